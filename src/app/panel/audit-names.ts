/** The names of restaurants, clients, keys and users, for pages that show names before the ids of the audit. */
import type { Kysely } from 'kysely';
import { readNames } from '#src/gateway/index.ts';
import type { AuditEntry, AuditNames } from '#src/panel/index.ts';

/** The emails of users by their ids. */
export type FindEmails = { emails(ids: readonly string[]): Promise<ReadonlyMap<string, string>> };

const panelActor = 'panel:';

/** A user is named as the audit names actors: `panel:<user id>`. */
export const idsIn = ({ clientId, credentialId, tenants, actor, details }: AuditEntry): string[] => {
  const user = (details as { user_id?: unknown } | null)?.user_id;
  return [
    ...[clientId, credentialId, actor].filter((id) => id !== null),
    ...tenants,
    ...(typeof user === 'string' ? [`${panelActor}${user}`] : []),
  ];
};

/** One statement for each feature, whatever the number of ids. */
export const readAuditNames = async (
  { db, users }: { db: Kysely<unknown>; users: FindEmails },
  asked: readonly string[],
): Promise<AuditNames> => {
  const ids = [...new Set(asked)];
  const [staff, others] = [
    ids.filter((id) => id.startsWith(panelActor)),
    ids.filter((id) => !id.startsWith(panelActor)),
  ];
  const { tenants, clients, keys, secrets } = await readNames(db, {
    tenants: others,
    clients: others,
    credentials: others,
  });
  const emails = staff.length === 0 ? [] : await users.emails(staff.map((id) => id.slice(panelActor.length)));
  return new Map([
    ...tenants,
    ...clients,
    ...keys,
    ...secrets,
    ...[...emails].map(([id, email]): [string, string] => [`${panelActor}${id}`, email]),
  ]);
};
