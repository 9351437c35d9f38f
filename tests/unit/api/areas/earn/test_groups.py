"""Who counts as one person (docs/payouts.md#groups)."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from api.areas.earn.rules import payout
from api.areas.earn.rules.groups import People, subscriber_of
from api.areas.earn.rules.payout import Debts, Item, Payee
from tests.each import each

ALONE = Payee(account_id=1, address="127.0.0.1")
COLLEAGUE, HERE = Payee(account_id=1, address="203.0.113.9"), "address:203.0.113.9"


@each(
    ("address", "whose"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", None),
        ("10.255.255.255", None),
        ("11.0.0.0", "11.0.0.0"),
        ("100.63.255.255", "100.63.255.255"),
        ("100.64.0.0", None),
        ("100.127.255.255", None),
        ("172.15.255.255", "172.15.255.255"),
        ("172.16.0.1", None),
        ("192.168.1.1", None),
        ("169.254.0.1", None),
        ("0.0.0.0", None),
        ("2001:db8:0:1::/64", "2001:db8::/56"),
        ("2001:db8:0:ff::/64", "2001:db8::/56"),
        ("2001:db8:0:100::/64", "2001:db8:0:100::/56"),
        ("::/64", None),
        ("fd00::/64", None),
        ("fe80::/64", None),
        ("unknown", None),
        ("simulated", None),
    ],
)
def test_an_address__says_who_is_behind_it_unless_anybody_may_be(
    address: str, whose: str | None
) -> None:
    assert subscriber_of(address) == whose


@each(
    ("payee", "keys"),
    [
        (ALONE, {"agent:1"}),
        (Payee(account_id=1, address="203.0.113.9"), {"agent:1", "address:203.0.113.9"}),
        (
            Payee(
                account_id=1,
                owner_id=5,
                address="203.0.113.9",
                other_address="203.0.113.10",
                wallets=("0x01", "0x02"),
                funder="0x03",
                funding_tx="0x04",
            ),
            {
                "owner:5",
                "address:203.0.113.9",
                "address:203.0.113.10",
                "wallet:0x01",
                "wallet:0x02",
                "wallet:0x03",
                "funding:0x04",
            },
        ),
    ],
)
def test_the_keys_of_an_account__are_all_that_is_known_of_it(payee: Payee, keys: set[str]) -> None:
    assert payee.keys == keys


def test_the_own_keys__are_what_nobody_else_can_do_to_an_account() -> None:
    funded = Payee(account_id=1, address="203.0.113.9", wallets=("0x01",), funder="0x03")
    assert funded.own_keys == {"agent:1", "address:203.0.113.9"}


def marks(*words: str) -> list[set[str]]:
    """Of each word, whose letters are keys, the marks of its person; then it is marked with itself."""
    people, found = People(), list[set[str]]()
    for word in words:
        found.append(set(people.meet(word)))
        people.mark(word)
    return found


def test_people__are_those_who_share_a_key__or_one_with_somebody_before() -> None:
    assert marks("ax", "b", "cx", "dc", "be") == [set(), set(), {"ax"}, {"ax", "cx"}, {"b"}]


def test_who_joins_two_persons__is_both__and_so_is_who_comes_after() -> None:
    assert marks("a", "b", "ab", "b") == [set(), set(), {"a", "b"}, {"a", "b", "ab"}]


@given(words=st.lists(st.text("abcdefgh", max_size=3), max_size=20), cut=st.integers(0, 20))
def test_who_comes_later__changes_nothing_that_was_said(words: list[str], cut: int) -> None:
    assert marks(*words)[:cut] == marks(*words[:cut])


@given(words=st.lists(st.text("abcdef", min_size=1, max_size=3), max_size=16))
def test_the_last__is_one_with_all_whom_a_chain_of_keys_leads_to(words: list[str]) -> None:
    reached, before = set(words[-1]) if words else set(), 0
    while before != len(reached):
        before = len(reached)
        reached |= {key for word in words if reached & set(word) for key in word}
    whole = {word for word in words[:-1] if reached & set(word)}
    assert words == [] or marks(*words)[-1] == whole


# Debts of a group


def test_a_payout__repays_its_own_debts_first_and_then_those_of_its_group() -> None:
    debts = Debts({1: 10, 2: 300, 3: 5}, {2: 100, 3: 5}, {HERE: deque([2, 3])})
    assert debts.repay(COLLEAGUE, 60) == {1: 10, 2: 50}
    assert debts.repay(COLLEAGUE, 60) == {2: 50, 3: 5}  # the rest of 2's debt is its own
    assert debts.repay(COLLEAGUE, 60) == {}
    assert (debts.owed[1], debts.owed[2], debts.owed[3]) == (0, 200, 0)
    assert (debts.of_groups[2], debts.of_groups[3]) == (0, 0)


def test_a_debt_that_two_keys_lead_to__is_repaid_once() -> None:
    debtors = {HERE: deque([2]), "owner:5": deque([2, 3])}
    debts = Debts({2: 50, 3: 50}, {2: 50, 3: 50}, debtors)
    payee = Payee(account_id=1, owner_id=5, address="203.0.113.9")
    assert debts.repay(payee, 70) == {2: 50, 3: 20}
    assert debts.repay(COLLEAGUE, 70) == {}


def test_a_debtor__repays_its_own_debt_once() -> None:
    debts = Debts({1: 300}, {1: 100}, {HERE: deque([1])})
    assert debts.repay(COLLEAGUE, 250) == {1: 250}
    assert debts.of_groups == {1: 50}  # it repays what is its group's last
    assert debts.repay(COLLEAGUE, 1_000) == {1: 50}


class Read(dict[int, int]):
    """It counts how often somebody looks into it."""

    times = 0

    def __getitem__(self, key: int) -> int:
        self.times += 1
        return super().__getitem__(key)


def test_payouts_of_a_group__read_each_of_its_debts_a_few_times_however_many_there_are() -> None:
    many = range(2, 1_002)
    left = Read(dict.fromkeys(many, 60))
    debts = Debts(dict.fromkeys(many, 60), left, {HERE: deque(many)})
    for account_id in many:
        payee = Payee(account_id=account_id + 10_000, address="203.0.113.9")
        assert debts.repay(payee, 60) == {account_id: 60}
    assert left.times <= 5 * len(many)


# Awards that rest on others


@each(
    ("others", "is_own"),
    [
        ([Payee(account_id=2, address="203.0.113.9")], False),
        ([Payee(account_id=2, funder="0x01")], True),
        ([Payee(account_id=2, wallets=("0x01",)), Payee(account_id=3)], True),
        (
            [
                Payee(account_id=2, funder="0x01", address="203.0.113.9"),
                Payee(account_id=3, address="203.0.113.9"),
            ],
            True,
        ),
    ],
)
def test_an_award__is_of_its_own_if_one_that_it_rests_on_is_the_same_person(
    others: list[Payee], is_own: bool
) -> None:
    payee = Payee(account_id=1, funder="0x01")
    item = Item(1, 1, False, 60, tuple(one.account_id for one in others))
    payees = {one.account_id: one for one in (payee, *others)}
    assert payout.is_of_its_own(item, payees) is is_own
