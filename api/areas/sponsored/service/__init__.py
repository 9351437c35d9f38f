"""Sponsored buys, and the price of gas."""
