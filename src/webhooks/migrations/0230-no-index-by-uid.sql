-- A delivery is found through its endpoint by the time that its id tells, or by its event: an index of ids is only cost.
drop index webhooks.deliveries_uid_idx;
