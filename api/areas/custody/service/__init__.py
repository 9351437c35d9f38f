"""The starter wallet, and how much room the service has for its transfers today."""
