-- A verdict of a verification, and how far a sink has come, are signed: who may write the tables cannot make either of them.
alter table gateway.audit_verifications add column mac bytea;
alter table gateway.audit_sink_positions add column mac bytea;
