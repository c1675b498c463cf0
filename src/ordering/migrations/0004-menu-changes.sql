-- Works with 1.0.0 and newer releases.
-- Who made an import, where that was not the client whose elements it is about: a user of the panel. A release before this one leaves
-- it null.
alter table ordering.menu_imports add column actor text;

-- What one version changed, page by page.
create index menu_undo_of_version on ordering.menu_undo (restuid, client_id, version, kind, uid);
