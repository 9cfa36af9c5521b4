"""revenuecat-client 2.0.0, which was generated from the OpenAPI document of RevenueCat's REST v2, against a running server.

Argument 1 names {"base_url", "secret_key", "customer"}: an id of a customer who has bought everything. Prints
{"passed": […], "failed": {…}}, by name of check. The client has the package name of its version 1.0.0, for v1; so it lies in
a folder of its own.
"""
import json
import sys
import traceback

sys.path.insert(0, sys.prefix + "/v2")

import requests
import revenuecat_client
from revenuecat_client.api.charts_metrics import get_overview_metrics
from revenuecat_client.api.customer import (
    create_customer,
    delete_customer,
    get_customer,
    list_customer_active_entitlements,
    list_customer_aliases,
    list_customer_attributes,
    list_customers,
    list_purchases,
    list_subscriptions,
    set_customer_attributes,
)
from revenuecat_client.api.entitlement import get_entitlement, list_entitlements
from revenuecat_client.api.offering import get_offering, list_offerings
from revenuecat_client.api.project import list_projects
from revenuecat_client.client import AuthenticatedClient
from revenuecat_client.models import (
    CreateCustomerBody,
    GetCustomerExpandItem,
    ListOfferingsExpandItem,
    ListSubscriptionsEnvironment,
    SetCustomerAttributesBody,
)
from revenuecat_client.types import UNSET

assert revenuecat_client.__file__.startswith(sys.prefix + "/v2/"), revenuecat_client.__file__

given = json.load(open(sys.argv[1]))
CUSTOMER, PROJECT = given["customer"], "proj1ab2c3d4"
client = AuthenticatedClient(
    base_url=given["base_url"] + "/v2", token=given["secret_key"], raise_on_unexpected_status=True)
passed, failed = [], {}


def check(function):
    try:
        function()
        passed.append(function.__name__)
    except Exception:
        failed[function.__name__] = traceback.format_exc()[-1500:]


def raw(path, **parameters):
    headers = {"Authorization": f"Bearer {given['secret_key']}"}
    said = requests.get(f"{given['base_url']}/v2/projects/{PROJECT}{path}", headers=headers, params=parameters)
    assert said.status_code == 200, said.content
    return said.json()


def still(value):
    """Without the instant that a read may change."""
    if isinstance(value, dict):
        return {name: still(one) for name, one in value.items() if name != "last_seen_at"}
    return [still(one) for one in value] if isinstance(value, list) else value


def loses_nothing(parsed, path, **parameters):
    """The models read every member, in the kinds and words that they know, and write it back as it came."""
    read, there = still(parsed.to_dict()), still(raw(path, **parameters))
    assert read == there, (read, there)
    assert there.get("items") != [], there


@check
def reads_a_customer():
    one = get_customer.sync(PROJECT, CUSTOMER, client=client)
    loses_nothing(one, f"/customers/{CUSTOMER}")
    assert [e.entitlement_id for e in one.active_entitlements.items] == ["basic", "pro"], one
    assert one.attributes is UNSET, one


@check
def reads_a_customer_with_attributes():
    one = get_customer.sync(PROJECT, CUSTOMER, client=client, expand=[GetCustomerExpandItem.ATTRIBUTES])
    assert {a.name: a.value for a in one.attributes.items}["favourite_colour"] == "green", one


@check
def reads_subscriptions():
    said = list_subscriptions.sync(PROJECT, CUSTOMER, client=client)
    loses_nothing(said, f"/customers/{CUSTOMER}/subscriptions")
    by_product = {one.product_id: one for one in said.items}
    # A grant has no product.
    assert set(by_product) == {"pro_monthly", "basic_monthly", "pro_yearly", None}, by_product
    assert by_product["pro_monthly"].gives_access and not by_product["basic_monthly"].gives_access
    assert by_product["pro_monthly"].total_revenue_in_usd.gross > 0
    assert [e.lookup_key for e in by_product["pro_monthly"].entitlements.items] == ["pro"]
    empty = list_subscriptions.sync(
        PROJECT, CUSTOMER, client=client, environment=ListSubscriptionsEnvironment.PRODUCTION)
    assert all(one.environment.value == "production" for one in empty.items)


@check
def reads_purchases():
    said = list_purchases.sync(PROJECT, CUSTOMER, client=client)
    loses_nothing(said, f"/customers/{CUSTOMER}/purchases")
    assert {one.product_id for one in said.items} == {"coins_100", "pro_lifetime"}, said


@check
def reads_active_entitlements():
    said = list_customer_active_entitlements.sync(PROJECT, CUSTOMER, client=client)
    loses_nothing(said, f"/customers/{CUSTOMER}/active_entitlements")


@check
def reads_aliases():
    said = list_customer_aliases.sync(PROJECT, CUSTOMER, client=client)
    loses_nothing(said, f"/customers/{CUSTOMER}/aliases")


@check
def writes_and_reads_attributes():
    body = SetCustomerAttributesBody.from_dict({"attributes": [{"name": "$email", "value": "ada@example.com"}]})
    said = set_customer_attributes.sync_detailed(PROJECT, CUSTOMER, client=client, body=body)
    assert said.status_code == 200, said
    said = list_customer_attributes.sync(PROJECT, CUSTOMER, client=client)
    loses_nothing(said, f"/customers/{CUSTOMER}/attributes")
    assert {one.name: one.value for one in said.items}["$email"] == "ada@example.com"


@check
def makes_a_customer_once_and_deletes_it():
    body = CreateCustomerBody.from_dict({"id": "made by v2", "attributes": [{"name": "mood", "value": "good"}]})
    made = create_customer.sync_detailed(PROJECT, client=client, body=body)
    assert made.status_code == 201 and made.parsed.id == "made by v2", made
    again = create_customer.sync_detailed(PROJECT, client=client, body=body)
    assert again.status_code == 409, again
    gone = delete_customer.sync_detailed(PROJECT, "made by v2", client=client)
    assert gone.status_code == 200 and gone.parsed.object_.value == "customer", gone
    assert get_customer.sync_detailed(PROJECT, "made by v2", client=client).status_code == 404


@check
def walks_through_all_customers():
    for number in range(5):
        create_customer.sync(PROJECT, client=client, body=CreateCustomerBody.from_dict({"id": f"page {number}"}))
    seen, after = [], UNSET
    while True:
        said = list_customers.sync(PROJECT, client=client, limit=2, starting_after=after)
        seen += [one.id for one in said.items]
        if not said.next_page:
            break
        after = said.items[-1].id
    assert len(seen) == len(set(seen)) >= 6, seen


@check
def reads_entitlements():
    said = list_entitlements.sync(PROJECT, client=client)
    loses_nothing(said, "/entitlements")
    assert [one.lookup_key for one in said.items] == ["basic", "pro"], said
    loses_nothing(get_entitlement.sync(PROJECT, "pro", client=client), "/entitlements/pro")


@check
def reads_offerings():
    said = list_offerings.sync(PROJECT, client=client)
    loses_nothing(said, "/offerings")
    assert [(one.lookup_key, one.is_current) for one in said.items] == [("default", True), ("sale", False)], said
    assert said.items[1].metadata == {"badge": "new"}, said
    said = list_offerings.sync(PROJECT, client=client, expand=[ListOfferingsExpandItem.ITEMS_PACKAGE])
    loses_nothing(said, "/offerings", expand="items.package")
    assert [one.lookup_key for one in said.items[0].packages.items] == ["$rc_monthly", "$rc_annual"], said
    loses_nothing(get_offering.sync(PROJECT, "sale", client=client), "/offerings/sale")


@check
def reads_projects():
    assert len(list_projects.sync(client=client).items) == 1


@check
def is_told_that_there_are_no_metrics():
    assert get_overview_metrics.sync_detailed(PROJECT, client=client).status_code == 404


@check
def is_refused_without_a_key():
    other = AuthenticatedClient(base_url=given["base_url"] + "/v2", token="sk_of_nobody")
    assert get_customer.sync_detailed(PROJECT, CUSTOMER, client=other).status_code == 401


print(json.dumps({"passed": passed, "failed": failed}))
