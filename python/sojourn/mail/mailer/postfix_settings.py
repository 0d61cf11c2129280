"""Postfix's parameters: names, defaults, and the parts of a policy that they are.

Source: postconf(5) and `postconf -d` of Postfix 3.7.
"""

from collections.abc import Mapping

from sojourn.mail.mailer.setting import Setting

_SHORT = ("10s", "5s")

# `maxproc` of `smtp` in master.cf.
PROCESSES = Setting("maxproc", ("limits.sessions",), "100")
# Of main.cf.
SETTINGS = (
    Setting("smtp_destination_concurrency_limit", ("limits.destination",), "20"),
    Setting("smtp_initial_destination_concurrency", ("limits.initial",), "5"),
    Setting("smtp_destination_recipient_limit", ("limits.recipients",), "50"),
    Setting("smtp_connection_cache_time_limit", ("limits.idle",), "2s", "s"),
    Setting("minimal_backoff_time", ("retry.first",), "300s", "s"),
    Setting("maximal_backoff_time", ("retry.most",), "4000s", "s"),
    Setting("maximal_queue_lifetime", ("lifetime",), "5d", "d"),
    Setting("smtp_connect_timeout", ("timeouts.connect",), "30s", "s", _SHORT),
    # One setting for the greeting and for EHLO.
    Setting("smtp_helo_timeout", ("timeouts.hello", "timeouts.greeting"), "300s", "s", ("30s",)),
    Setting("smtp_mail_timeout", ("timeouts.mail",), "300s", "s"),
    Setting("smtp_rcpt_timeout", ("timeouts.rcpt",), "300s", "s"),
    Setting("smtp_data_init_timeout", ("timeouts.data",), "120s", "s"),
    Setting("smtp_data_xfer_timeout", ("timeouts.block",), "180s", "s"),
    Setting("smtp_data_done_timeout", ("timeouts.dot",), "600s", "s"),
    Setting("smtp_rset_timeout", ("timeouts.rset",), "20s", "s"),
    Setting("smtp_quit_timeout", ("timeouts.quit",), "300s", "s"),
)
# Parameters of a transport, and those that hold for each transport without its own.
OF_TRANSPORTS: Mapping[str, str] = {
    "destination_concurrency_limit": "default_destination_concurrency_limit",
    "destination_recipient_limit": "default_destination_recipient_limit",
    "initial_destination_concurrency": "initial_destination_concurrency",
    "destination_rate_delay": "default_destination_rate_delay",
    "transport_rate_delay": "default_transport_rate_delay",
}
# Further parameters that are read, and their defaults.
OTHERS: Mapping[str, str] = {
    "default_process_limit": "100",
    "default_destination_concurrency_limit": "20",
    "default_destination_recipient_limit": "50",
    "initial_destination_concurrency": "5",
    "default_destination_rate_delay": "0s",
    "default_transport_rate_delay": "0s",
    "queue_run_delay": "300s",
    "smtp_skip_quit_response": "yes",
    "transport_maps": "",
}
# What the model lacks, where it is not the default.
NOT_MODELLED: Mapping[str, str] = {
    "content_filter": "",
    "default_destination_concurrency_failed_cohort_limit": "1",
    "default_destination_concurrency_negative_feedback": "1",
    "default_destination_concurrency_positive_feedback": "1",
    "default_transport": "smtp",
    "defer_transports": "",
    "qmgr_message_active_limit": "20000",
    "qmgr_message_recipient_limit": "20000",
    "relayhost": "",
    "sender_dependent_default_transport_maps": "",
    "sender_dependent_relayhost_maps": "",
    "smtp_connection_cache_on_demand": "yes",
    "smtp_connection_reuse_count_limit": "0",
    "smtp_connection_reuse_time_limit": "300s",
    "smtp_destination_concurrency_failed_cohort_limit": "1",
    "smtp_destination_concurrency_negative_feedback": "1",
    "smtp_destination_concurrency_positive_feedback": "1",
    "smtp_destination_rate_delay": "0s",
    "smtp_fallback_relay": "",
    "smtp_mx_session_limit": "2",
    "smtp_tls_security_level": "",
    "smtp_transport_rate_delay": "0s",
}
