/** Use cases of staff on the contacts of one API client. Each change is recorded in the audit. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { endLink } from '../accounts/link-store.ts';
import {
  findUserByEmail,
  insertUser,
  listContacts,
  lockUser,
  setClients,
  type UserRow,
} from '../accounts/user-store.ts';
import { deleteSessions } from '../sessions/session-store.ts';
import {
  assertRoom,
  checkEmail,
  clientsMax,
  event,
  makeLink,
  type OneTimeLink,
  type ShownUser,
  showUser,
  type UsersDeps,
} from './users.ts';

/** More than `assertRoom` allows, because releases before did not count the contacts that the command line added. */
const listedMax = 1_000;

/** `link`: undefined when the contact has a password already and only sees one client more. */
export type InvitedContact = ShownUser & { link: OneTimeLink | undefined };

export const createContacts = (deps: UsersDeps) => {
  const { db, clock, record } = deps;
  return {
    /** Sorted by email. */
    list: async (clientId: string): Promise<ShownUser[]> => (await listContacts(db, clientId, listedMax)).map(showUser),

    /**
     * Creates the account, or adds the client to the account of a contact. An invitation that is not accepted yet gets a
     * new link. VALIDATION_ERROR: no email. CONFLICT: a member of staff or a disabled account has this email, or a bound
     * is reached.
     */
    invite: (actor: string, clientId: string, given: string): Promise<InvitedContact> => {
      const email = checkEmail(given);
      return inTransaction(db, async (tx) => {
        const now = clock.now();
        const { user, isNew } = await findOrInsert(tx, email, now);
        await assertInvitable(tx, user, clientId);
        const clients = [...new Set([...user.clients, clientId])];
        if (clients.length !== user.clients.length) {
          await setClients(tx, user.id, clients);
          const made = event(actor, user, isNew ? 'user.created' : 'user.changed', { role: 'contact', clients });
          await record(tx, now, { ...made, clientId });
        }
        const shown = showUser({ ...user, clients });
        if (shown.state !== 'invited') return { ...shown, link: undefined };
        const link = await makeLink(deps, tx, user.id, now);
        if (!isNew) await record(tx, now, { ...event(actor, user, 'user.link_made'), clientId });
        return { ...shown, link };
      });
    },

    /**
     * Takes effect with the next request of the contact. Without any client left, its sessions and its link end.
     * NOT_FOUND when the account is no contact of the client.
     */
    remove: (actor: string, clientId: string, userId: string): Promise<ShownUser> =>
      inTransaction(db, async (tx) => {
        const user = await lockUser(tx, userId);
        if (user === undefined || !user.clients.includes(clientId))
          throw new Fault('NOT_FOUND', 'There is no such contact of this client');
        const clients = user.clients.filter((one) => one !== clientId);
        await setClients(tx, user.id, clients);
        if (clients.length === 0) {
          await endLink(tx, user.id);
          await deleteSessions(tx, user.id);
        }
        await record(tx, clock.now(), {
          ...event(actor, user, 'user.changed', { role: 'contact', clients }),
          clientId,
        });
        return showUser({ ...user, clients });
      }),
  };
};

/** Locks the account. */
const findOrInsert = async (
  tx: Kysely<unknown>,
  email: string,
  now: Date,
): Promise<{ user: UserRow; isNew: boolean }> => {
  const id = newId('usr', now.getTime());
  const isNew = await insertUser(tx, { id, email, role: 'contact', createdAt: now });
  const found = await findUserByEmail(tx, email);
  const user = found && (await lockUser(tx, found.id));
  if (user === undefined) throw new Fault('CONFLICT', 'The account was removed meanwhile');
  return { user, isNew };
};

const assertInvitable = async (tx: Kysely<unknown>, user: UserRow, clientId: string): Promise<void> => {
  if (user.role !== 'contact') throw new Fault('CONFLICT', `${user.email} is the email of an account of staff`);
  if (user.disabledAt !== undefined) throw new Fault('CONFLICT', `The account ${user.email} is disabled`);
  if (user.clients.includes(clientId)) return;
  if (user.clients.length >= clientsMax) throw new Fault('CONFLICT', `A contact sees at most ${clientsMax} clients`);
  await assertRoom(tx, [clientId]);
};
