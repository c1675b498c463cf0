/** What users of the panel may be notified of, read from the features. */
import {
  listAuditAlarms,
  listEndingCredentials,
  listEndingKeys,
  listReportedLeaks,
  readClientNames,
  readRefusedHours,
} from '#src/gateway/index.ts';
import { restaurantsByUid } from '#src/ordering/index.ts';
import { dayMs } from '#src/platform/clock.ts';
import type { Store } from '#src/platform/db/index.ts';
import type { Found, NoticeSources } from '#src/staff/index.ts';
import { listDisabled } from '#src/webhooks/index.ts';

/** A happening is found again for so long; a notice of it is kept longer (staff/notices). */
const backMs = dayMs;
const endingMs = 7 * dayMs;
const limit = 500;

/** chosen: fewer refusals in an hour are no burst, whatever is usual. */
const refusalsMin = 100;
const refusalsTimes = 5;

type Db = Store['background'];

const restaurantNames = async (db: Db, uids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  new Map((await restaurantsByUid(db, [...new Set(uids)])).map(({ uid, name }) => [uid, name]));

type Page = { limit: number; skip: number };

/**
 * Reads one page at each look, and the first one again after the last, so that a look costs the same however many rows there are. A
 * row that moves to a page which was just read is found in the next turn; each source finds a row for a day or more.
 */
const inTurns = <T>(read: (page: Page, now: Date) => Promise<readonly T[]>) => {
  let skip = 0;
  return async (now: Date): Promise<readonly T[]> => {
    const rows = await read({ limit, skip }, now);
    skip = rows.length < limit ? 0 : skip + limit;
    return rows;
  };
};

export const createNoticeSources = (store: Pick<Store, 'background'>): NoticeSources => {
  const db = store.background;
  const names = (uids: readonly string[]) => restaurantNames(db, uids);
  const untilEnd = (now: Date) => ({ from: now, to: new Date(now.getTime() + endingMs) });
  const readDisabled = inTurns((page, now) => listDisabled(db, new Date(now.getTime() - backMs), page));
  const readKeys = inTurns((page, now) => listEndingKeys(db, { ...untilEnd(now), ...page }));
  const readCredentials = inTurns((page, now) => listEndingCredentials(db, { ...untilEnd(now), ...page }));
  const readReported = inTurns((page, now) => listReportedLeaks(db, new Date(now.getTime() - backMs), page));
  const readAlarms = inTurns((page, now) => listAuditAlarms(db, new Date(now.getTime() - backMs), page));
  return {
    endpoint_disabled: async (now) => {
      const found = await readDisabled(now);
      const nameOf = await names(found.map(({ tenant }) => tenant));
      return found.map(({ tenant, uid, origin, reason, at }) => ({
        key: `endpoint_disabled ${uid} ${at.toISOString()}`,
        tenant,
        facts: {
          restaurant: nameOf.get(tenant) ?? tenant,
          endpoint: uid,
          address: origin,
          reason,
          at: at.toISOString(),
        },
      }));
    },
    key_ending: async (now) => {
      const found = await readKeys(now);
      const nameOf = await names(found.map(({ tenant }) => tenant));
      return found.map(({ tenant, keyId, name, expires }) => ({
        key: `key_ending ${keyId} ${expires.toISOString()}`,
        tenant,
        facts: { restaurant: nameOf.get(tenant) ?? tenant, key: `${name} (${keyId})`, ends: expires.toISOString() },
      }));
    },
    credential_ending: async (now) =>
      (await readCredentials(now)).map(({ clientId, clientName, kind, id, expires }) => ({
        key: `credential_ending ${kind} ${clientId} ${id} ${expires.toISOString()}`,
        tenant: undefined,
        client: clientId,
        facts: { client: `${clientName} (${clientId})`, credential: id, ends: expires.toISOString() },
      })),
    leak_reported: async (now) => describeLeaks(db, await readReported(now)),
    refusals: async (now) =>
      (await readRefusedHours(db, now))
        .filter(({ refused, usual }) => refused >= refusalsMin && refused >= usual * refusalsTimes)
        .map(({ hour, refused, usual }) => ({
          key: `refusals ${hour.toISOString()}`,
          tenant: undefined,
          facts: { hour: hour.toISOString(), refused: String(refused), usual: String(usual) },
        })),
    audit_broken: async (now) =>
      (await readAlarms(now)).map(({ id, action, at }) => ({
        key: `audit_broken ${id}`,
        tenant: undefined,
        facts: { event: `${action} ${id}`, at: at.toISOString() },
      })),
  };
};

const describeLeaks = async (
  db: Db,
  leaks: Readonly<Awaited<ReturnType<typeof listReportedLeaks>>>,
): Promise<Found[]> => {
  const restaurants = await restaurantNames(
    db,
    leaks.flatMap(({ tenant }) => tenant ?? []),
  );
  const clientIds = [...new Set(leaks.flatMap(({ client }) => client ?? []))];
  const clients = new Map((await readClientNames(db, clientIds)).map(({ clientId, name }) => [clientId, name]));
  return leaks.map(({ event, at, tenant, client, credential }) => ({
    key: `leak_reported ${event}`,
    tenant: tenant ?? undefined,
    client: client ?? undefined,
    facts: {
      ...(tenant !== null && { restaurant: restaurants.get(tenant) ?? tenant }),
      ...(client !== null && { client: `${clients.get(client) ?? client} (${client})` }),
      credential,
      at: at.toISOString(),
    },
  }));
};
