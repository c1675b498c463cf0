-- People look for restaurants by the beginning of their name.
create index restaurants_by_name on ordering.restaurants ((lower(name) collate "C"), uid);
