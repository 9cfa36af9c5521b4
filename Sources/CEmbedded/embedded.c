#include "CEmbedded.h"
#include <string.h>

// Files as arrays of the compiler's own making (C23, 6.10.4): a Swift literal of as many bytes takes it a minute.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char public_privileges_sql[] = {
#embed "../../schemas/sql/public_privileges.sql"
};
static const unsigned char v0001_initial_sql[] = {
#embed "../../schemas/sql/v0001_initial.sql"
};
static const unsigned char v0002_actions_sql[] = {
#embed "../../schemas/sql/v0002_actions.sql"
};
static const unsigned char v0003_retention_sql[] = {
#embed "../../schemas/sql/v0003_retention.sql"
};
static const unsigned char v0004_held_retries_sql[] = {
#embed "../../schemas/sql/v0004_held_retries.sql"
};
static const unsigned char v0005_attempt_log_sql[] = {
#embed "../../schemas/sql/v0005_attempt_log.sql"
};
static const unsigned char v0006_order_sql[] = {
#embed "../../schemas/sql/v0006_order.sql"
};
static const unsigned char v0007_jobs_sql[] = {
#embed "../../schemas/sql/v0007_jobs.sql"
};
static const unsigned char v0008_endpoint_settings_sql[] = {
#embed "../../schemas/sql/v0008_endpoint_settings.sql"
};
static const unsigned char v0009_health_sql[] = {
#embed "../../schemas/sql/v0009_health.sql"
};
static const unsigned char v0010_refunds_sql[] = {
#embed "../../schemas/sql/v0010_refunds.sql"
};
static const unsigned char v0011_history_sql[] = {
#embed "../../schemas/sql/v0011_history.sql"
};
static const unsigned char v0012_status_sql[] = {
#embed "../../schemas/sql/v0012_status.sql"
};
static const unsigned char v0013_rest_sql[] = {
#embed "../../schemas/sql/v0013_rest.sql"
};
static const unsigned char v0014_grants_sql[] = {
#embed "../../schemas/sql/v0014_grants.sql"
};
static const unsigned char v0015_keys_sql[] = {
#embed "../../schemas/sql/v0015_keys.sql"
};
static const unsigned char v0016_snapshots_sql[] = {
#embed "../../schemas/sql/v0016_snapshots.sql"
};
static const unsigned char v0017_privacy_sql[] = {
#embed "../../schemas/sql/v0017_privacy.sql"
};
static const unsigned char v0018_posted_sql[] = {
#embed "../../schemas/sql/v0018_posted.sql"
};
static const unsigned char v0019_identities_sql[] = {
#embed "../../schemas/sql/v0019_identities.sql"
};
static const unsigned char v0020_last_seen_sql[] = {
#embed "../../schemas/sql/v0020_last_seen.sql"
};
static const unsigned char v0021_owners_sql[] = {
#embed "../../schemas/sql/v0021_owners.sql"
};
static const unsigned char v0022_folded_sql[] = {
#embed "../../schemas/sql/v0022_folded.sql"
};
static const unsigned char v0023_privileges_sql[] = {
#embed "../../schemas/sql/v0023_privileges.sql"
};
static const unsigned char v0024_entropy_tables_sql[] = {
#embed "../../schemas/sql/v0024_entropy_tables.sql"
};
static const unsigned char v0025_comments_sql[] = {
#embed "../../schemas/sql/v0025_comments.sql"
};
static const unsigned char v0026_fleets_sql[] = {
#embed "../../schemas/sql/v0026_fleets.sql"
};
static const unsigned char v0027_endpoint_content_sql[] = {
#embed "../../schemas/sql/v0027_endpoint_content.sql"
};
static const unsigned char v0028_growth_sql[] = {
#embed "../../schemas/sql/v0028_growth.sql"
};
static const unsigned char v0029_account_looks_sql[] = {
#embed "../../schemas/sql/v0029_account_looks.sql"
};
static const unsigned char v0030_console_sql[] = {
#embed "../../schemas/sql/v0030_console.sql"
};
static const unsigned char v0031_console_sessions_sql[] = {
#embed "../../schemas/sql/v0031_console_sessions.sql"
};
static const unsigned char v0032_journal_sql[] = {
#embed "../../schemas/sql/v0032_journal.sql"
};
static const unsigned char v0033_position_sql[] = {
#embed "../../schemas/sql/v0033_position.sql"
};
static const unsigned char v0034_changes_sql[] = {
#embed "../../schemas/sql/v0034_changes.sql"
};
static const unsigned char v0035_reports_sql[] = {
#embed "../../schemas/sql/v0035_reports.sql"
};
static const unsigned char v0036_guards_sql[] = {
#embed "../../schemas/sql/v0036_guards.sql"
};
static const unsigned char v0037_targets_sql[] = {
#embed "../../schemas/sql/v0037_targets.sql"
};
static const unsigned char v0038_histories_sql[] = {
#embed "../../schemas/sql/v0038_histories.sql"
};
static const unsigned char v0039_processes_sql[] = {
#embed "../../schemas/sql/v0039_processes.sql"
};
static const unsigned char v0040_bulk_sql[] = {
#embed "../../schemas/sql/v0040_bulk.sql"
};
static const unsigned char v0041_attribute_values_sql[] = {
#embed "../../schemas/sql/v0041_attribute_values.sql"
};
static const unsigned char v0042_notes_sql[] = {
#embed "../../schemas/sql/v0042_notes.sql"
};
static const unsigned char v0043_operator_changes_sql[] = {
#embed "../../schemas/sql/v0043_operator_changes.sql"
};
static const unsigned char v0044_statistics_sql[] = {
#embed "../../schemas/sql/v0044_statistics.sql"
};
static const unsigned char v0045_endpoint_changes_sql[] = {
#embed "../../schemas/sql/v0045_endpoint_changes.sql"
};
static const unsigned char v0046_change_kinds_sql[] = {
#embed "../../schemas/sql/v0046_change_kinds.sql"
};
static const unsigned char v0047_diversion_sql[] = {
#embed "../../schemas/sql/v0047_diversion.sql"
};
static const unsigned char v0048_purchase_lanes_sql[] = {
#embed "../../schemas/sql/v0048_purchase_lanes.sql"
};
static const unsigned char openapi_yaml[] = {
#embed "../../schemas/openapi.yaml"
};
static const unsigned char operator_yaml[] = {
#embed "../../schemas/operator.yaml"
};
static const unsigned char console_css[] = {
#embed "../../Sources/Console/Frame/console.css"
};

static const struct {
    const char *name;
    const unsigned char *bytes;
    size_t count;
} files[] = {
    {"public_privileges.sql", public_privileges_sql, sizeof public_privileges_sql},
    {"v0001_initial.sql", v0001_initial_sql, sizeof v0001_initial_sql},
    {"v0002_actions.sql", v0002_actions_sql, sizeof v0002_actions_sql},
    {"v0003_retention.sql", v0003_retention_sql, sizeof v0003_retention_sql},
    {"v0004_held_retries.sql", v0004_held_retries_sql, sizeof v0004_held_retries_sql},
    {"v0005_attempt_log.sql", v0005_attempt_log_sql, sizeof v0005_attempt_log_sql},
    {"v0006_order.sql", v0006_order_sql, sizeof v0006_order_sql},
    {"v0007_jobs.sql", v0007_jobs_sql, sizeof v0007_jobs_sql},
    {"v0008_endpoint_settings.sql", v0008_endpoint_settings_sql, sizeof v0008_endpoint_settings_sql},
    {"v0009_health.sql", v0009_health_sql, sizeof v0009_health_sql},
    {"v0010_refunds.sql", v0010_refunds_sql, sizeof v0010_refunds_sql},
    {"v0011_history.sql", v0011_history_sql, sizeof v0011_history_sql},
    {"v0012_status.sql", v0012_status_sql, sizeof v0012_status_sql},
    {"v0013_rest.sql", v0013_rest_sql, sizeof v0013_rest_sql},
    {"v0014_grants.sql", v0014_grants_sql, sizeof v0014_grants_sql},
    {"v0015_keys.sql", v0015_keys_sql, sizeof v0015_keys_sql},
    {"v0016_snapshots.sql", v0016_snapshots_sql, sizeof v0016_snapshots_sql},
    {"v0017_privacy.sql", v0017_privacy_sql, sizeof v0017_privacy_sql},
    {"v0018_posted.sql", v0018_posted_sql, sizeof v0018_posted_sql},
    {"v0019_identities.sql", v0019_identities_sql, sizeof v0019_identities_sql},
    {"v0020_last_seen.sql", v0020_last_seen_sql, sizeof v0020_last_seen_sql},
    {"v0021_owners.sql", v0021_owners_sql, sizeof v0021_owners_sql},
    {"v0022_folded.sql", v0022_folded_sql, sizeof v0022_folded_sql},
    {"v0023_privileges.sql", v0023_privileges_sql, sizeof v0023_privileges_sql},
    {"v0024_entropy_tables.sql", v0024_entropy_tables_sql, sizeof v0024_entropy_tables_sql},
    {"v0025_comments.sql", v0025_comments_sql, sizeof v0025_comments_sql},
    {"v0026_fleets.sql", v0026_fleets_sql, sizeof v0026_fleets_sql},
    {"v0027_endpoint_content.sql", v0027_endpoint_content_sql, sizeof v0027_endpoint_content_sql},
    {"v0028_growth.sql", v0028_growth_sql, sizeof v0028_growth_sql},
    {"v0029_account_looks.sql", v0029_account_looks_sql, sizeof v0029_account_looks_sql},
    {"v0030_console.sql", v0030_console_sql, sizeof v0030_console_sql},
    {"v0031_console_sessions.sql", v0031_console_sessions_sql, sizeof v0031_console_sessions_sql},
    {"v0032_journal.sql", v0032_journal_sql, sizeof v0032_journal_sql},
    {"v0033_position.sql", v0033_position_sql, sizeof v0033_position_sql},
    {"v0034_changes.sql", v0034_changes_sql, sizeof v0034_changes_sql},
    {"v0035_reports.sql", v0035_reports_sql, sizeof v0035_reports_sql},
    {"v0036_guards.sql", v0036_guards_sql, sizeof v0036_guards_sql},
    {"v0037_targets.sql", v0037_targets_sql, sizeof v0037_targets_sql},
    {"v0038_histories.sql", v0038_histories_sql, sizeof v0038_histories_sql},
    {"v0039_processes.sql", v0039_processes_sql, sizeof v0039_processes_sql},
    {"v0040_bulk.sql", v0040_bulk_sql, sizeof v0040_bulk_sql},
    {"v0041_attribute_values.sql", v0041_attribute_values_sql, sizeof v0041_attribute_values_sql},
    {"v0042_notes.sql", v0042_notes_sql, sizeof v0042_notes_sql},
    {"v0043_operator_changes.sql", v0043_operator_changes_sql, sizeof v0043_operator_changes_sql},
    {"v0044_statistics.sql", v0044_statistics_sql, sizeof v0044_statistics_sql},
    {"v0045_endpoint_changes.sql", v0045_endpoint_changes_sql, sizeof v0045_endpoint_changes_sql},
    {"v0046_change_kinds.sql", v0046_change_kinds_sql, sizeof v0046_change_kinds_sql},
    {"v0047_diversion.sql", v0047_diversion_sql, sizeof v0047_diversion_sql},
    {"v0048_purchase_lanes.sql", v0048_purchase_lanes_sql, sizeof v0048_purchase_lanes_sql},
    {"openapi.yaml", openapi_yaml, sizeof openapi_yaml},
    {"operator.yaml", operator_yaml, sizeof operator_yaml},
    {"console.css", console_css, sizeof console_css},
};

const unsigned char *entitled_embedded(const char *name, size_t *count) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name) == 0) {
            *count = files[i].count;
            return files[i].bytes;
        }
    }
    return NULL;
}
