-- Restaurants by words of their names.
create index restaurants_words on ordering.restaurants
  using gin (to_tsvector('simple', regexp_replace(name, '[^[:alnum:]]+', ' ', 'g')));
