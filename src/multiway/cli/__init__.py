"""The command line: parse, call one workflow, print."""

from multiway.lazy import extend

# In the order of the help; other packages add theirs by entry points. A dot stands after the name of a group.
extend("commands", "multiway.cli.data:check_command", "check")
extend("commands", "multiway.cli.runs:evaluate_command", "evaluate")
extend("commands", "multiway.cli.runs:predict_command", "predict")
extend("commands", "multiway.cli.runs:backtest_command", "backtest")
extend("commands", "multiway.cli.runs:anomalies_command", "anomalies")
extend("commands", "multiway.cli.runs:update_command", "update")
extend("commands", "multiway.cli.runs:explain_command", "explain")
extend("commands", "multiway.cli.runs:report_command", "report")
extend("commands", "multiway.cli.runs:compare_command", "compare")
extend("commands", "multiway.cli.data:audit_command", "audit")
extend("commands", "multiway.cli.runs:compress_command", "compress")
extend("commands", "multiway.cli.doctor:doctor_command", "doctor")
extend("commands", "multiway.cli.data:list_command", "data.list")
extend("commands", "multiway.cli.data:fetch_command", "data.fetch")
extend("commands", "multiway.cli.data:make_command", "data.make")
