google_test berth_daemon_integration_test 700 "$(word daemon_tests)"
