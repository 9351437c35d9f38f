"""verify-record: checks an exported record of a mandate against any node, without trusting the
service that exported it.

reading.py      the file: form, order, hash chain, head
node.py         what is asked of the node, in batches
terms_check.py  who signed what, and which vault that is
expected.py     the rows that the vault's own logs give
rows_check.py   each row against them; reversals and incarnations
reverts_check.py  reverted calls, reported and left out
replay.py       sums: of the rows, of the logs, and the vault's own
verification.py the order of it all;  main.py the command
"""
