-- The api process makes customers for ids that apps ask for.

GRANT INSERT ON entitled.customer, entitled.app_user_id TO entitled_api;
