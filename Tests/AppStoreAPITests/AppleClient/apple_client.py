"""Apple's own client and verifier against a simulated store: every endpoint, and everything that is signed.

usage: apple_client.py FILE, with a JSON object in it. Prints one JSON object; an exception ends it with status 1.
"""

import json
import sys
import time
import warnings

from appstoreserverlibrary import api_client
from appstoreserverlibrary.api_client import APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.ConsumptionStatus import ConsumptionStatus
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.DeliveryStatusV1 import DeliveryStatusV1
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

warnings.simplefilter("ignore", DeprecationWarning)
DAY = 86_400_000


class Check:
    def __init__(self, given):
        self.given = given
        self.environment = Environment(given["environment"])
        self.client = self.make_client(given["bundle_id"])
        with open(given["root"], "rb") as file:
            self.verifier = SignedDataVerifier(
                [file.read()], False, self.environment, given["bundle_id"], given["apple_app_id"])
        self.verified = 0

    def make_client(self, bundle_id):
        with open(self.given["private_key"], "rb") as file:
            client = AppStoreServerAPIClient(
                file.read(), self.given["key_id"], self.given["issuer_id"], bundle_id, self.environment)
        client._base_url = self.given["base_url"]
        return client

    def transaction(self, signed):
        self.verified += 1
        return self.verifier.verify_and_decode_signed_transaction(signed)

    def refused(self, code, call):
        try:
            call()
        except APIException as error:
            assert error.raw_api_error == code, (code, error.raw_api_error, error.http_status_code)
            assert code is None or error.http_status_code == code // 10000, error.http_status_code
            return error
        raise AssertionError(f"{code} was not refused")

    def run(self):
        for step in (self.lookups, self.history, self.refunds, self.statuses, self.notifications, self.tests,
                     self.changes, self.mass_extension, self.consumption, self.refusals):
            step()
        codes = sorted(code.value for code in api_client.APIError)
        return {"verified": self.verified, "codes": codes}

    def lookups(self):
        given = self.given
        info = self.client.get_transaction_info(given["subscription"])
        assert self.transaction(info.signedTransactionInfo).transactionId == given["subscription"]
        app = self.client.get_app_transaction_info(given["subscription"]).signedAppTransactionInfo
        assert self.verifier.verify_and_decode_app_transaction(app).appTransactionId == given["customer"]
        order = self.client.look_up_order_id(given["order"])
        assert order.status == OrderLookupStatus.VALID and len(order.signedTransactions) == 1
        self.transaction(order.signedTransactions[0])
        assert self.client.look_up_order_id("MNONE").status == OrderLookupStatus.INVALID

    def all_transactions(self, request, version=GetTransactionHistoryVersion.V2):
        found, revision, more = [], None, True
        while more:
            page = self.client.get_transaction_history(self.given["customer"], revision, request, version)
            assert page.environment == self.environment and page.bundleId == self.given["bundle_id"]
            assert page.appAppleId == self.given["apple_app_id"] and len(page.signedTransactions) <= 20
            found += [self.transaction(signed) for signed in page.signedTransactions]
            revision, more = page.revision, page.hasMore
        return found

    def history(self):
        count = self.given["transactions"]
        everything = self.all_transactions(TransactionHistoryRequest())
        assert len({t.transactionId for t in everything}) == len(everything) == count
        downwards = self.all_transactions(TransactionHistoryRequest(sort=Order.DESCENDING))
        assert [t.transactionId for t in downwards] == [t.transactionId for t in everything][::-1]
        old = self.all_transactions(TransactionHistoryRequest(), GetTransactionHistoryVersion.V1)
        assert len(old) == count
        coins = self.all_transactions(TransactionHistoryRequest(
            productTypes=[ProductType.CONSUMABLE], revoked=False, inAppOwnershipType=InAppOwnershipType.PURCHASED,
            startDate=1, endDate=int(time.time() * 1000) + 40 * DAY))
        assert len(coins) == 1
        assert not self.all_transactions(TransactionHistoryRequest(revoked=True))
        assert not self.all_transactions(TransactionHistoryRequest(subscriptionGroupIdentifiers=["1"]))

    def refunds(self):
        found, revision, more = [], None, True
        while more:
            page = self.client.get_refund_history(self.given["refunded"], revision)
            found += [self.transaction(signed).revocationDate for signed in page.signedTransactions]
            revision, more = page.revision, page.hasMore
        assert len(found) == self.given["refunds"] and found == sorted(found)

    def statuses(self):
        answer = self.client.get_all_subscription_statuses(self.given["customer"], [Status.ACTIVE, Status.EXPIRED])
        assert answer.environment == self.environment
        [group] = answer.data
        [last] = group.lastTransactions
        assert last.status == Status.ACTIVE
        assert self.transaction(last.signedTransactionInfo).originalTransactionId == last.originalTransactionId
        renewal = self.verifier.verify_and_decode_renewal_info(last.signedRenewalInfo)
        assert renewal.originalTransactionId == last.originalTransactionId
        assert not self.client.get_all_subscription_statuses(self.given["customer"], [Status.REVOKED]).data

    def all_notifications(self, **options):
        now = int(time.time() * 1000)
        request = NotificationHistoryRequest(startDate=now - 29 * DAY, endDate=now, **options)
        found, token, more = [], None, True
        while more:
            page = self.client.get_notification_history(token, request)
            for item in page.notificationHistory:
                found.append(self.verifier.verify_and_decode_notification(item.signedPayload))
                self.verified += 1
                assert all(a.sendAttemptResult == SendAttemptResult.SUCCESS for a in item.sendAttempts)
            token, more = page.paginationToken, page.hasMore
        return found

    def notifications(self):
        count = self.given["notifications"]
        everything = self.all_notifications()
        assert len({n.notificationUUID for n in everything}) == len(everything) == count, len(everything)
        deadline = time.monotonic() + 20
        while self.all_notifications(onlyFailures=True):
            assert time.monotonic() < deadline, "not everything was delivered"
        refunds = self.all_notifications(notificationType=NotificationTypeV2.REFUND)
        assert len(refunds) == self.given["refunds"]
        for data in (n.data for n in everything if n.data.signedTransactionInfo):
            self.transaction(data.signedTransactionInfo)

    def tests(self):
        token = self.client.request_test_notification().testNotificationToken
        deadline = time.monotonic() + 20
        while True:
            try:
                status = self.client.get_test_notification_status(token)
                break
            except APIException as error:
                assert error.raw_api_error == 4040008 and time.monotonic() < deadline
        test = self.verifier.verify_and_decode_notification(status.signedPayload)
        assert test.notificationType == NotificationTypeV2.TEST
        assert [a.sendAttemptResult for a in status.sendAttempts] == [SendAttemptResult.SUCCESS]

    def changes(self):
        original = self.given["subscription"]
        request = ExtendRenewalDateRequest(
            extendByDays=3, extendReasonCode=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE, requestIdentifier="one")
        answer = self.client.extend_subscription_renewal_date(original, request)
        assert answer.success and answer.originalTransactionId == original and answer.webOrderLineItemId
        assert answer.effectiveDate == self.given["expires"] + 3 * DAY
        token = "7e3fb204-2d4f-4c19-8b0d-3c9e5f3a7d11"
        self.client.set_app_account_token(original, UpdateAppAccountTokenRequest(token))
        info = self.client.get_transaction_info(original)
        assert self.transaction(info.signedTransactionInfo).appAccountToken == token
        self.client.finish_transaction(original)

    def mass_extension(self):
        request = MassExtendRenewalDateRequest(
            extendByDays=2, extendReasonCode=ExtendReasonCode.OTHER, requestIdentifier="all", productId="pro_monthly",
            storefrontCountryCodes=self.given["storefronts"])
        assert self.client.extend_renewal_date_for_all_active_subscribers(request).requestIdentifier == "all"
        deadline = time.monotonic() + 20
        while True:
            status = self.client.get_status_of_subscription_renewal_date_extensions("all", "pro_monthly")
            assert status.requestIdentifier == "all"
            if status.complete:
                break
            assert time.monotonic() < deadline
        assert status.completeDate and status.succeededCount == 1 and status.failedCount >= 0

    def consumption(self):
        coins = self.given["one_time"]
        self.client.send_consumption_information(coins, ConsumptionRequest(
            customerConsented=True, sampleContentProvided=False, deliveryStatus=DeliveryStatus.DELIVERED,
            consumptionPercentage=50000, refundPreference=RefundPreference.GRANT_PRORATED))
        self.client.send_consumption_data(coins, ConsumptionRequestV1(
            customerConsented=True, consumptionStatus=ConsumptionStatus.FULLY_CONSUMED, sampleContentProvided=True,
            deliveryStatus=DeliveryStatusV1.DELIVERED_AND_WORKING_PROPERLY, appAccountToken=""))

    def refusals(self):
        client, now = self.client, int(time.time() * 1000)
        self.refused(4000006, lambda: client.get_transaction_info("abc"))
        self.refused(4040010, lambda: client.get_transaction_info("999"))
        self.refused(4000005, lambda: client.get_refund_history(self.given["refunded"], "wrong"))
        for code, request in (
                (4000012, NotificationHistoryRequest(startDate=now - 400 * DAY, endDate=now)),
                (4000013, NotificationHistoryRequest(startDate=now, endDate=now - 1)),
                (4000015, NotificationHistoryRequest(endDate=now)),
                (4000016, NotificationHistoryRequest(startDate=now)),
                (4000019, NotificationHistoryRequest(
                    startDate=now - 1, endDate=now, transactionId=self.given["subscription"],
                    notificationType=NotificationTypeV2.TEST))):
            self.refused(code, lambda request=request: client.get_notification_history(None, request))
        self.refused(4000009, lambda: client.extend_subscription_renewal_date(
            self.given["subscription"], ExtendRenewalDateRequest(91, ExtendReasonCode.OTHER, "x")))
        self.refused(4000183, lambda: client.set_app_account_token(
            self.given["subscription"], UpdateAppAccountTokenRequest("no")))
        error = self.refused(None, self.make_client("com.example.stranger").request_test_notification)
        assert error.http_status_code == 401 and error.error_message is None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print(json.dumps(Check(json.load(file)).run()))


if __name__ == "__main__":
    main()
