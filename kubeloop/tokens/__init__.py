"""Service account tokens as both the API server and the loop of token Secrets make them.

jwt       JSON web tokens: taken apart and signed
keys      the keys that sign and verify
key_file  the private key's file, made by whoever needs it first
"""
