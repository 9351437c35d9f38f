"""USDC as the service writes it, text with six decimals, and as one counts with it, base units."""


def usdc_e6(text: str) -> int:
    """USDC base units of an amount in text such as "0.100000". Errors: ValueError."""
    whole, _, part = text.partition(".")
    if not (text.isascii() and whole.isdigit() and len(part) <= 6 and (part.isdigit() or not part)):
        raise ValueError(f"{text!r}: write an amount such as 0.100000, with at most six decimals")
    return int(whole) * 10**6 + int(part.ljust(6, "0") or "0")


def usdc_text(amount_usdc_e6: int) -> str:
    whole, part = divmod(abs(amount_usdc_e6), 10**6)
    return f"{'-' if amount_usdc_e6 < 0 else ''}{whole}.{part:06d}"
