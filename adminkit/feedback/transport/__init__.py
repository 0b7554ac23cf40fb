"""How letters leave: SMTP, the host's sendmail, or a folder."""
