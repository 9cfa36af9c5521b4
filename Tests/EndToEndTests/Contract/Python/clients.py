"""Other people's clients of RevenueCat's REST v1 against a running server.

Argument 1 names {"base_url", "public_key", "secret_key", "customer", "transaction"}: an id of a customer who has bought
everything, and a signed transaction that nobody has posted. Prints {"passed": […], "failed": {…}}, by name of check.
"""
import json
import sys
import traceback

import requests
import revenuecat_sdk.client
from revenuecat_client.api.customers import delete_subscriber, subscribers, update_subscriber_attributes
from revenuecat_client.api.entitlements import grant_a_promotional_entitlement, revoke_promotional_entitlements
from revenuecat_client.api.offerings import get_offerings
from revenuecat_client.api.transactions import receipts
from revenuecat_client.client import AuthenticatedClient
from revenuecat_client.models import (
    GrantAPromotionalEntitlementBody,
    ReceiptsBody,
    Subscriber,
    SubscriberSubscriberEntitlementsProCat,
    SubscriberSubscriberNonSubscriptionsOnetimeItem,
    SubscriberSubscriberSubscriptionsAnnual,
    UpdateSubscriberAttributesBody,
)
from revenuecat_sdk.response import NonSubscription, Subscription

given = json.load(open(sys.argv[1]))
CUSTOMER = given["customer"]
passed, failed = [], {}


def check(function):
    try:
        function()
        passed.append(function.__name__)
    except Exception:
        failed[function.__name__] = traceback.format_exc()[-1500:]


def answer(key, path="", method="GET", **more):
    headers = {"Authorization": f"Bearer {given[key]}"}
    return requests.request(method, f"{given['base_url']}/v1/subscribers/{CUSTOMER}{path}", headers=headers, **more)


# ---- revenuecat-sdk 0.0.3: a named tuple of exactly the members that it knows

revenuecat_sdk.client.Client.base_api_url = given["base_url"] + "/v1"
public = revenuecat_sdk.client.Client(public_key=given["public_key"])
secret = revenuecat_sdk.client.Client(public_key=given["public_key"], secret_key=given["secret_key"])


@check
def sdk_reads_a_customer_with_a_public_key():
    customer = public.get_subscriber_info(CUSTOMER)
    assert customer.subscriber_attributes is None
    assert set(customer.subscriptions) >= {"pro_monthly", "basic_monthly", "pro_yearly"}, customer.subscriptions
    assert set(customer.non_subscriptions) == {"coins_100", "pro_lifetime"}, customer.non_subscriptions
    assert customer.entitlements["pro"]["expires_date"] is None, customer.entitlements


@check
def sdk_reads_a_customer_with_a_secret_key():
    customer = secret.get_subscriber_info(CUSTOMER)
    assert customer.subscriber_attributes["favourite_colour"]["value"] == "green", customer


@check
def sdk_finds_its_members_in_purchases():
    customer = public.get_subscriber_info(CUSTOMER)
    for one in customer.subscriptions.values():
        Subscription(**{name: one[name] for name in Subscription._fields})
    for all_of_one in customer.non_subscriptions.values():
        for one in all_of_one:
            NonSubscription(**{name: one[name] for name in NonSubscription._fields})


@check
def sdk_sees_a_subscriber():
    assert public.is_user_subscribed(CUSTOMER)


@check
def sdk_sees_somebody_new():
    customer = public.get_subscriber_info("new to the sdk")
    assert customer.original_app_user_id == "new to the sdk"
    assert not public.is_user_subscribed("new to the sdk")


@check
def sdk_sets_attributes():
    public.update_subscriber_attrs(CUSTOMER, {"mood": {"value": "good", "updated_at_ms": 1767225600000}})
    assert secret.get_subscriber_info(CUSTOMER).subscriber_attributes["mood"]["value"] == "good"


@check
def sdk_deletes():
    public.get_subscriber_info("short lived")
    assert secret.delete_subscriber("short lived") == "short lived"


# ---- revenuecat-client 1.0.0: generated from RevenueCat's OpenAPI document

def client(key):
    return AuthenticatedClient(
        base_url=given["base_url"] + "/v1", token=given[key], raise_on_unexpected_status=False)


@check
def client_reads_a_customer_and_loses_nothing():
    parsed = subscribers.sync(CUSTOMER, client=client("public_key"))
    again = answer("public_key").json()
    assert isinstance(parsed, Subscriber)
    read = parsed.to_dict()["subscriber"]
    # The model has a list for the product of its example, bought or not.
    assert read["non_subscriptions"].pop("onetime") == []
    assert read | {"last_seen": ""} == again["subscriber"] | {"last_seen": ""}


@check
def client_models_read_each_purchase():
    subscriber = answer("public_key").json()["subscriber"]
    for one in subscriber["subscriptions"].values():
        assert SubscriberSubscriberSubscriptionsAnnual.from_dict(one).to_dict() == one
    for all_of_one in subscriber["non_subscriptions"].values():
        for one in all_of_one:
            assert SubscriberSubscriberNonSubscriptionsOnetimeItem.from_dict(one).to_dict() == one
    for one in subscriber["entitlements"].values():
        assert SubscriberSubscriberEntitlementsProCat.from_dict(one).to_dict() == one


@check
def client_posts_a_transaction():
    body = ReceiptsBody.from_dict({"app_user_id": "of the client", "fetch_token": given["transaction"]})
    said = receipts.sync_detailed(body=body, client=client("public_key"))
    assert said.status_code == 200, said.content
    assert "pro_monthly" in json.loads(said.content)["subscriber"]["subscriptions"]


@check
def client_sets_attributes():
    # The model wants this key, which is the placeholder of the document that it was made from.
    attributes = {"key_name": {"value": "44"}}
    body = UpdateSubscriberAttributesBody.from_dict({"attributes": attributes})
    said = update_subscriber_attributes.sync_detailed(CUSTOMER, body=body, client=client("public_key"))
    assert said.status_code == 200, said.content
    body = UpdateSubscriberAttributesBody.from_dict({"attributes": attributes | {"no key": {"value": "44"}}})
    said = update_subscriber_attributes.sync(CUSTOMER, body=body, client=client("public_key"))
    assert [one.key_name for one in said.attribute_errors] == ["no key"], said


@check
def client_grants_and_revokes():
    body = GrantAPromotionalEntitlementBody.from_dict({"duration": "weekly"})
    said = grant_a_promotional_entitlement.sync_detailed("granted", "basic", body=body, client=client("secret_key"))
    assert said.status_code == 201, said.content
    assert "rc_promo_basic_weekly" in json.loads(said.content)["subscriber"]["subscriptions"], said.content
    said = revoke_promotional_entitlements.sync_detailed("granted", "basic", client=client("secret_key"))
    assert said.status_code == 200, said.content


@check
def client_reads_offerings():
    said = get_offerings.sync(CUSTOMER, client=client("public_key"))
    assert said.current_offering_id == "default", said
    assert [one.identifier for one in said.offerings] == ["default", "sale"], said
    refused = get_offerings.sync_detailed(CUSTOMER, client=client("secret_key"))
    assert refused.status_code == 403 and refused.parsed.code == 7243, refused
    refused = get_offerings.sync_detailed(CUSTOMER, client=client("public_key"), x_platform="toaster")
    assert refused.status_code == 400 and refused.parsed.code == 7000, refused


@check
def client_deletes():
    subscribers.sync_detailed("short lived too", client=client("public_key"))
    assert delete_subscriber.sync_detailed("short lived too", client=client("secret_key")).status_code == 200


print(json.dumps({"passed": passed, "failed": failed}))
