/** The port of a restaurant's API keys. */
import { Fault, validationFault } from '#src/contract/fault.ts';
import { type Credentials, createKeyViews, type ShownKey } from '#src/gateway/index.ts';
import { endOfDay, requireRestaurant } from '#src/ordering/index.ts';
import type { ApiKey, KeyPorts } from '#src/panel/index.ts';
import type { Installation } from '../installation/installation.ts';
import { cursorOf, pageOf, readCursor } from './page-cursor.ts';

type KeyDeps = { installation: Installation; credentialsOf: (actor: string) => Credentials };

const yearsMax = 10;

export const createKeyPorts = ({ installation, credentialsOf }: KeyDeps): KeyPorts => {
  const { store, clock } = installation;
  const views = createKeyViews({ db: store.db, clock });
  /**
   * Throws NOT_FOUND for keys of other restaurants. The owner of a key never changes, so the check stays true for the
   * change that follows.
   */
  const requireKey = async (restuid: string, keyId: string): Promise<void> => {
    if ((await views.find(restuid, keyId)) === undefined) throw new Fault('NOT_FOUND', 'There is no such key');
  };
  const endOf = async (restuid: string, lastDay: string | undefined): Promise<Date | undefined> => {
    if (lastDay === undefined) return undefined;
    const { timeZone } = await requireRestaurant(store.db, restuid);
    const end = isDay(lastDay) ? endOfDay(lastDay, timeZone) : undefined;
    if (end === undefined) throw refusedDay('FORMAT', 'is no day');
    const now = clock.now();
    if (end <= now) throw refusedDay('RANGE', 'is over');
    if (end.getUTCFullYear() > now.getUTCFullYear() + yearsMax) throw refusedDay('RANGE', 'is too far ahead');
    return end;
  };
  return {
    list: async (restuid, { ended, after, limit }) => {
      const rows = await views.listPage({ tenant: restuid, ended, after: readCursor(after), limit: limit + 1 });
      return pageOf(rows.map(keyOf), limit, (key) => cursorOf(key.created, key.keyId));
    },
    find: async (restuid, keyId) => {
      const key = await views.find(restuid, keyId);
      return key && keyOf(key);
    },
    create: async (actor, restuid, { name, lastDay }) => {
      const expires = await endOf(restuid, lastDay);
      const made = await credentialsOf(actor).createApiKey({
        tenant: restuid,
        name,
        ...(expires === undefined ? undefined : { expires }),
      });
      return { keyId: made.key_id, value: made.api_key };
    },
    rotate: async (actor, restuid, keyId, overlapHours) => {
      await requireKey(restuid, keyId);
      const made = await credentialsOf(actor).rotateApiKey(keyId, overlapHours);
      return { keyId: made.key_id, value: made.api_key };
    },
    revoke: async (actor, restuid, keyId) => {
      await requireKey(restuid, keyId);
      await credentialsOf(actor).revokeApiKey(keyId);
    },
  };
};

const keyOf = (key: ShownKey): ApiKey => ({
  keyId: key.id,
  name: key.name,
  state: key.state,
  reason: key.reason ?? undefined,
  created: key.created,
  expires: key.expires ?? undefined,
  calls5m: key.calls5m,
  lastUsed: key.lastUsed ?? undefined,
  lastAddress: key.lastAddress ?? undefined,
  isQuiet: key.isQuiet,
  isSafeToRetire: key.safeToRetire,
});

/** Rejects days that do not exist, such as 2026-02-30. */
const isDay = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
};

const refusedDay = (code: 'FORMAT' | 'RANGE', message: string): Fault =>
  validationFault([{ pointer: 'expires', code, message }]);
