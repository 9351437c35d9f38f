"""What the mandate wallet takes (commands) and answers (answers, made of parts)."""
