"""Sign-in and linked wallets, the admission of new accounts, and lost secrets."""
