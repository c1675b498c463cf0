-- Works with 1.0.0 and newer releases.
-- How far the clock of a sandbox is ahead of the real one. Without a row: not at all. A release before this one neither reads nor
-- writes it, and uses the real time for every restaurant.
create table ordering.sandbox_clocks (
  restuid text primary key references ordering.restaurants (uid),
  ahead_ms bigint not null check (ahead_ms > 0)
);
