"""The user's arrays or model in; findings, plan and trial out."""
