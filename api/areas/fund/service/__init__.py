"""The services of fund signals: vaults, signals, mirrors (consents and fills), plans, operators;
`shown` is what they show in one way.
"""
