/** The rotation of the master key by the command line, and its state. How it works: src/app/installation/README.md. */
import { appendChange } from '#src/gateway/index.ts';
import { openSession, type Session } from '#src/platform/db/driver/session.ts';
import { hasCluster } from '#src/platform/db/embedded/home.ts';
import { assertNotRestoring } from '#src/platform/db/embedded/restore-cluster.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { type Installation, openInstallation } from '../installation/installation.ts';
import { listKeyHolders } from '../installation/key-holder.ts';
import { hasTable, type KeyHolderRow } from '../installation/key-holder-store.ts';
import { isOwnKey, type MasterKey, type MasterKeys, readMasterKeys } from '../installation/master-keys.ts';
import { hasNextKey, makeNextKey, useNextKey } from '../installation/own-key-file.ts';
import { nameConnection, openOwnStore } from '../installation/own-store.ts';
import { addKey, type RecordKey, removeOthers } from '../installation/rotate-master-key.ts';
import { listSealed, takeRotationLock } from '../installation/sealed-root-store.ts';
import type { Settings } from '../settings/config.ts';
import { actorName } from './actor-name.ts';

const lookEveryMs = 500;

/**
 * settled: the root is sealed by the current key alone. to_rotate: by the previous key, and not by the current one. rotating:
 * by the current key and by others. unknown_key: by no given key. unsealed: a store of an earlier release, or an empty one.
 */
type MasterKeyState = 'settled' | 'to_rotate' | 'rotating' | 'unknown_key' | 'unsealed';

export type MasterKeyStatus = {
  state: MasterKeyState;
  current: string;
  previous: string | null;
  /** Ids of the keys that open the root. */
  sealedBy: string[];
  /** Running processes. `canStart`: one of its keys opens the root. */
  processes: (KeyHolderRow & { canStart: boolean })[];
  /** No running process and no stored value needs the previous key. */
  previousCanGo: boolean;
};

/** Throws when the store cannot be reached. No key needs to fit, so that an operator sees which one is missing. */
export const showMasterKey = async (settings: Settings, log: Logger): Promise<MasterKeyStatus> => {
  const keys = readMasterKeys(settings, { makes: false });
  if (settings.database_url === undefined) assertNotRestoring(settings.data_dir);
  // To open an embedded store that was never started would make it.
  if (settings.database_url === undefined && !hasCluster(settings.data_dir)) return statusOf(keys, [], []);
  const store = await openOwnStore(settings, log, { exclusive: false });
  try {
    if (!(await hasTable(store.db, 'facts'))) return statusOf(keys, [], []);
    const [sealed, holders] = await inTransaction(store.db, async (tx) => [
      await listSealed(tx),
      await listKeyHolders(tx),
    ]);
    return statusOf(keys, [...sealed.keys()], holders);
  } catch (error) {
    throw nameConnection(settings, error);
  } finally {
    await store.close();
  }
};

const statusOf = ({ current, previous }: MasterKeys, sealedBy: string[], holders: KeyHolderRow[]): MasterKeyStatus => {
  const state = stateOf(sealedBy, current.id, previous?.id);
  const processes = holders.map((holder) => ({
    ...holder,
    canStart: holder.keys.some((key) => sealedBy.includes(key)),
  }));
  const previousCanGo = state === 'settled' && processes.every(({ keys }) => keys.includes(current.id));
  return { state, current: current.id, previous: previous?.id ?? null, sealedBy, processes, previousCanGo };
};

const stateOf = (sealedBy: readonly string[], current: string, previous: string | undefined): MasterKeyState => {
  if (sealedBy.length === 0) return 'unsealed';
  if (sealedBy.includes(current)) return sealedBy.length === 1 ? 'settled' : 'rotating';
  return previous !== undefined && sealedBy.includes(previous) ? 'to_rotate' : 'unknown_key';
};

export type RotatedMasterKey = {
  /** The id of the new key. */
  key: string;
  /** Processes that would not find the new key at their next start; while there are any, the store keeps the key before. */
  waiting: KeyHolderRow[];
  /** The file that keeps the key before, when it is one of the data folder and was replaced now. */
  kept: string | undefined;
};

/**
 * Seals the root by the new key, waits until every running process holds that key, and removes the others. Throws when there
 * is no new key. `onWaiting`: called with each new list of the processes that it waits for.
 */
export const rotateMasterKey = async (
  settings: Settings,
  log: Logger,
  { waitMsMax, onWaiting }: { waitMsMax: number; onWaiting: (waiting: readonly KeyHolderRow[]) => void },
): Promise<RotatedMasterKey> => {
  // Where the key is missing, to open the installation would make one.
  readMasterKeys(settings, { makes: false });
  const installation = await openInstallation(settings, log, { exclusive: false });
  let lock: Session | undefined;
  try {
    const { db } = installation.store;
    lock = await lockRotation(installation);
    // Read under the lock, because another rotation may have replaced the file meanwhile.
    const keys = readMasterKeys(settings, { makes: false });
    const target = targetOf(settings, keys, [...(await listSealed(db)).keys()]);
    const deps = { db, record: recordIn(installation) };
    await addKey(deps, keys, target);
    const kept = target === keys.current ? undefined : useNextKey(settings, keys.current);
    const endMs = performance.now() + waitMsMax;
    let shown = '';
    for (;;) {
      if (lock.over.aborted) throw new Error('the connection to the database was lost: run the command again');
      const waiting = await removeOthers(deps, target);
      const names = waiting.map(({ name }) => name).join();
      if (names !== shown && waiting.length > 0) onWaiting(waiting);
      shown = names;
      if (waiting.length === 0 || performance.now() >= endMs) return { key: target.id, waiting, kept };
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  } finally {
    lock?.close();
    await installation.store.close();
  }
};

/**
 * Two rotations of the key in a data folder at once could each remove the key that the other puts in place. The lock ends with
 * its session, and so with a command that is killed.
 */
const lockRotation = async ({ store }: Installation): Promise<Session> => {
  const session = await openSession(store.sessions, 'orderpass master-key rotate');
  try {
    if (await takeRotationLock(session.client)) return session;
    throw new Error('another master-key rotate is running on this store: wait until it ends, and run this one again');
  } catch (error) {
    session.close();
    throw error;
  }
};

const recordIn =
  ({ box, clock }: Installation): RecordKey =>
  (tx, action, key) =>
    appendChange(tx, box, clock.now(), { action, actor: actorName(), details: JSON.stringify({ key }) });

/** The key that the root is sealed by in the end. A repeated call goes on where an earlier one ended. */
const targetOf = (settings: Settings, { current, previous }: MasterKeys, sealedBy: readonly string[]): MasterKey => {
  const isSettled = sealedBy.length === 1 && sealedBy.includes(current.id);
  if (isOwnKey(settings)) return isSettled || hasNextKey(settings) ? makeNextKey(settings) : current;
  if (isSettled && previous === undefined)
    throw new Error(
      `the store is sealed by the given key ${current.id}: give a new key as ORDERPASS_MASTER_KEY, and this one as ORDERPASS_MASTER_KEY_PREVIOUS`,
    );
  return current;
};
