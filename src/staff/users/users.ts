/** Use cases on staff accounts, for the command line and the panel. Each change is recorded in the audit. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, hourMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId, newToken } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { RecordEvents, StaffEvent } from '../accounts/account-events.ts';
import { normalizeEmail } from '../accounts/email.ts';
import { endLink, replaceLink } from '../accounts/link-store.ts';
import { isRole, type Role, roles } from '../accounts/role.ts';
import {
  countContactsToAdd,
  findEmails,
  findUser,
  findUserByEmail,
  insertUser,
  listUsers,
  lockAdmins,
  lockUser,
  markOfUsers,
  setClients,
  setDisabled,
  setRestaurants,
  setRole,
  type UserRow,
} from '../accounts/user-store.ts';
import { deletePasskeys } from '../passkeys/passkey-store.ts';
import { removeTotp } from '../second-factor/totp-store.ts';
import { deleteSessions } from '../sessions/session-store.ts';
import { createThrottle } from '../sign-in/throttle.ts';

export type UsersDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  record: RecordEvents;
  /** Public address of the page that takes one-time links; the token follows as `?token=`. */
  linkAddress: string;
  /** Refuses what would leave no administrator. The command line may do it, because it can create another one. */
  keepsLastAdmin?: boolean;
};

export type ShownUser = {
  userId: string;
  email: string;
  role: Role;
  restaurants: readonly string[];
  clients: readonly string[];
  state: 'active' | 'invited' | 'disabled';
  totp: boolean;
  passkeys: number;
  created: Date;
};

export type OneTimeLink = { link: string; expires: Date };

const linkHours = 24;

export type Users = ReturnType<typeof createUsers>;

export const createUsers = (deps: UsersDeps) => ({
  ...userReads(deps),
  ...invitations(deps),
  ...accountChanges(deps),
});

const userReads = ({ db }: UsersDeps) => ({
  /** See markOfUsers. */
  mark: (): Promise<string> => markOfUsers(db),
  /** By user id; an id without an entry is unknown. */
  emails: (ids: readonly string[]): Promise<ReadonlyMap<string, string>> => findEmails(db, ids),
  find: async (id: string): Promise<ShownUser | undefined> => {
    const user = await findUser(db, id);
    return user && showUser(user);
  },
  /** Sorted by email, after the email `after`. */
  list: async (after = '', limit = 100): Promise<ShownUser[]> => (await listUsers(db, after, limit)).map(showUser),
});

/** New users and their one-time links. */
const invitations = (deps: UsersDeps) => {
  const throttle = createThrottle(deps);
  const { db, clock, record } = deps;
  return {
    /** Throws VALIDATION_ERROR, or CONFLICT when a user with this email exists. */
    create: async (
      actor: string,
      given: { email: string; role: string; restaurants?: readonly string[]; clients?: readonly string[] },
    ): Promise<ShownUser & OneTimeLink> => {
      const email = checkEmail(given.email);
      const role = checkRole(given.role);
      const restaurants = checkRestaurants(role, given.restaurants ?? []);
      const clients = checkClients(role, given.clients ?? []);
      return inTransaction(db, async (tx) => {
        const now = clock.now();
        const id = newId('usr', now.getTime());
        if (!(await insertUser(tx, { id, email, role, createdAt: now })))
          throw new Fault('CONFLICT', `There is a user ${email} already`);
        await setRestaurants(tx, id, restaurants);
        await assertRoom(tx, clients);
        await setClients(tx, id, clients);
        const link = await makeLink(deps, tx, id, now);
        const details = { role, restaurants, ...(clients.length > 0 && { clients }) };
        const made = { ...event(actor, { id, email }, 'user.created', details), tenants: restaurants };
        await record(tx, now, ...underClients(made, clients));
        const user = await lockUser(tx, id);
        if (user === undefined) throw new Error('the created user was not found in its own transaction');
        return { ...showUser(user), ...link };
      });
    },
    /**
     * Creates a one-time link and ends the previous one. Its user sets a new password and is signed in. Wrong codes count for
     * nothing then: who knew the former password may have used up the attempts. A link that a visitor asked for has no such
     * effect, or who reads the mail could guess codes without end.
     */
    makeLink: (actor: string, email: string): Promise<ShownUser & OneTimeLink> =>
      change(deps, email, async (tx, user, now) => {
        if (user.disabledAt !== undefined) throw new Fault('CONFLICT', `${user.email} is disabled`);
        const link = await makeLink(deps, tx, user.id, now);
        await throttle.forgetCodes(tx, user.id);
        await record(tx, now, event(actor, user, 'user.link_made'));
        return { ...showUser(user), ...link };
      }),
    /**
     * The same for a visitor who forgot the password; `mail` sends the link to the account. The previous link ends only when
     * the mail server took the new one: a stranger may ask too, and must not end a link that staff passed on. What ends an
     * unused link while the mail is on its way ends this one too, so it is not stored then.
     */
    makeForgottenLink: async (
      asked: UserRow,
      address: string,
      mail: (link: OneTimeLink) => Promise<'sent' | 'failed'>,
    ): Promise<void> => {
      const { digest, ...link } = draftLink(deps, clock.now());
      if ((await mail(link)) !== 'sent') return;
      await inTransaction(db, async (tx) => {
        const user = await lockUser(tx, asked.id);
        if (user === undefined || !maySetPassword(user) || endsLinks(asked, user)) return;
        await replaceLink(tx, { userId: user.id, digest, expiresAt: link.expires });
        await record(tx, clock.now(), {
          action: 'user.link_made',
          outcome: 'success',
          address,
          details: { user_id: user.id, email: user.email, by: 'forgotten password' },
        });
      });
    },
  };
};

const accountChanges = (deps: UsersDeps) => {
  const { record } = deps;
  return {
    /**
     * Members that are not named keep their value. Sessions continue, because each request reads the role again. Another
     * role ends the unused link: who saw it for the former role must not sign in with the new one. `check` refuses the change by
     * throwing; it gets the account of now, under its lock.
     */
    set: (
      actor: string,
      email: string,
      given: {
        role?: string | undefined;
        restaurants?: readonly string[] | undefined;
        clients?: readonly string[] | undefined;
      },
      check?: (stored: ShownUser) => void,
    ): Promise<ShownUser> =>
      changeAccess(deps, email, async (tx, user, { now, isLastAdmin }) => {
        check?.(showUser(user));
        const role = given.role === undefined ? user.role : checkRole(given.role);
        const restaurants = checkRestaurants(role, given.restaurants ?? (role === 'owner' ? user.restaurants : []));
        if (role !== 'admin' && isLastAdmin) throw lastAdmin(user);
        const clients = checkClients(role, given.clients ?? (role === 'contact' ? user.clients : []));
        const added = clients.filter((client) => !user.clients.includes(client));
        await assertRoom(tx, added);
        await setRole(tx, user.id, role, now);
        if (role !== user.role) await endLink(tx, user.id);
        await setRestaurants(tx, user.id, restaurants);
        await setClients(tx, user.id, clients);
        const removed = user.clients.filter((client) => !clients.includes(client));
        const details = {
          role,
          restaurants,
          ...(clients.length > 0 && { clients }),
          ...(added.length > 0 && { clients_added: added }),
          ...(removed.length > 0 && { clients_removed: removed }),
        };
        // A restaurant that the user loses has the change in its timeline too.
        const tenants = [...new Set([...user.restaurants, ...restaurants])];
        const changed = { ...event(actor, user, 'user.changed', details), tenants };
        await record(tx, now, ...underClients(changed, [...added, ...removed]));
        return showUser({ ...user, role, restaurants, clients });
      }),
    /** Ends every session and link at once. */
    disable: (actor: string, email: string): Promise<ShownUser> =>
      changeAccess(deps, email, async (tx, user, { now, isLastAdmin }) => {
        if (isLastAdmin) throw lastAdmin(user);
        await setDisabled(tx, user.id, user.disabledAt ?? now);
        await endLink(tx, user.id);
        const sessions = await deleteSessions(tx, user.id);
        await record(tx, now, event(actor, user, 'user.changed', { state: 'disabled', sessions_ended: sessions }));
        return showUser({ ...user, disabledAt: user.disabledAt ?? now });
      }),
    enable: (actor: string, email: string): Promise<ShownUser> =>
      change(deps, email, async (tx, user, now) => {
        await setDisabled(tx, user.id, undefined);
        await record(tx, now, event(actor, user, 'user.changed', { state: 'enabled' }));
        return showUser({ ...user, disabledAt: undefined });
      }),
    /** For a user who has lost both the device and the recovery codes. */
    removeTotp: (actor: string, email: string): Promise<ShownUser> =>
      change(deps, email, async (tx, user, now) => {
        if (user.totpSince === undefined) throw new Fault('CONFLICT', `${user.email} has no second factor`);
        await removeTotp(tx, user.id);
        await record(tx, now, event(actor, user, 'user.totp_removed'));
        return showUser({ ...user, totpSince: undefined });
      }),
    /** For a user who has lost them, or whose passkeys belong to a former host name of the panel. Ends every session. */
    removePasskeys: (actor: string, email: string): Promise<ShownUser> =>
      change(deps, email, async (tx, user, now) => {
        const removed = await deletePasskeys(tx, user.id);
        if (removed === 0) throw new Fault('CONFLICT', `${user.email} has no passkey`);
        const sessions_ended = await deleteSessions(tx, user.id);
        await record(tx, now, event(actor, user, 'user.passkey_removed', { removed, sessions_ended }));
        return showUser({ ...user, passkeys: 0 });
      }),
  };
};

/** Changes one user under a lock, in a transaction. */
const change = <T>(
  { db, clock }: UsersDeps,
  email: string,
  work: (tx: Kysely<unknown>, user: UserRow, now: Date) => Promise<T>,
): Promise<T> =>
  inTransaction(db, async (tx) => {
    const found = await findUserByEmail(tx, normalizeEmail(email));
    const user = found && (await lockUser(tx, found.id));
    if (user === undefined) throw noSuchUser(email);
    return work(tx, user, clock.now());
  });

/** A change that may take the role of an administrator away. Of two at the same time, the second one sees the first. */
const changeAccess = <T>(
  deps: UsersDeps,
  email: string,
  work: (tx: Kysely<unknown>, user: UserRow, seen: { now: Date; isLastAdmin: boolean }) => Promise<T>,
): Promise<T> =>
  inTransaction(deps.db, async (tx) => {
    const admins = deps.keepsLastAdmin === true ? await lockAdmins(tx) : [];
    const found = await findUserByEmail(tx, normalizeEmail(email));
    const user = found && (await lockUser(tx, found.id));
    if (user === undefined) throw noSuchUser(email);
    const isLastAdmin = admins.length === 1 && admins[0] === user.id;
    return work(tx, user, { now: deps.clock.now(), isLastAdmin });
  });

const lastAdmin = ({ email }: UserRow): Fault =>
  new Fault('CONFLICT', `${email} is the only administrator: make another account an administrator first`);

export const event = (
  actor: string,
  user: Pick<UserRow, 'id' | 'email'>,
  action: StaffEvent['action'],
  more = {},
): StaffEvent => ({
  action,
  outcome: 'success',
  actor,
  details: { user_id: user.id, email: user.email, ...more },
});

/** Once for each client that is given or taken away: an event of the audit names one client, under which it is found. */
const underClients = (made: StaffEvent, clients: readonly string[]): StaffEvent[] =>
  clients.length === 0 ? [made] : clients.map((clientId) => ({ ...made, clientId }));

/** The link is a credential: it sets the password once, within a day. It works from the moment when it is stored. */
const draftLink = ({ box, linkAddress }: UsersDeps, now: Date): OneTimeLink & { digest: Buffer } => {
  const token = newToken();
  const expires = new Date(now.getTime() + linkHours * hourMs);
  return { link: `${linkAddress}?token=${token}`, expires, digest: box.digest(token) };
};

export const makeLink = async (
  deps: UsersDeps,
  tx: Kysely<unknown>,
  userId: string,
  now: Date,
): Promise<OneTimeLink> => {
  const { digest, ...link } = draftLink(deps, now);
  await replaceLink(tx, { userId, digest, expiresAt: link.expires });
  return link;
};

/**
 * False for an account that is disabled, and for one that belongs to its provider: a password would be a second way in, which
 * an administrator may open.
 */
export const maySetPassword = ({ disabledAt, password, oidcSubject }: UserRow): boolean =>
  disabledAt === undefined && (password !== undefined || oidcSubject === undefined);

/** True where the account changed in a way that ends its unused link. */
const endsLinks = (before: UserRow, after: UserRow): boolean =>
  after.password !== before.password ||
  after.role !== before.role ||
  after.oidcSubject !== before.oidcSubject ||
  (after.clients.length === 0 && before.clients.length > 0);

export const showUser = (user: UserRow): ShownUser => ({
  userId: user.id,
  email: user.email,
  role: user.role,
  restaurants: user.restaurants,
  clients: user.clients,
  state:
    user.disabledAt !== undefined
      ? 'disabled'
      : user.password === undefined && user.oidcSubject === undefined
        ? 'invited'
        : 'active',
  totp: user.totpSince !== undefined,
  passkeys: user.passkeys,
  created: user.createdAt,
});

export const checkEmail = (text: string): string => {
  const email = normalizeEmail(text);
  if (email.length > 254 || !/^[^\s@"<>()\\,;:\p{Cc}]+@[^\s@"<>()\\,;:\p{Cc}]+$/u.test(email))
    throw new Fault('VALIDATION_ERROR', `${JSON.stringify(text.slice(0, 300))} is no email address`);
  return email;
};

const checkRole = (role: string): Role => {
  if (!isRole(role)) throw new Fault('VALIDATION_ERROR', `The role must be one of ${roles.join(', ')}`);
  return role;
};

const checkRestaurants = (role: Role, restaurants: readonly string[]): readonly string[] => {
  if (role !== 'owner' && restaurants.length > 0)
    throw new Fault('VALIDATION_ERROR', `Only an owner is bound to restaurants; the role is ${role}`);
  if (role === 'owner' && restaurants.length === 0)
    throw new Fault('VALIDATION_ERROR', 'An owner needs at least one restaurant');
  return [...new Set(restaurants)];
};

/** Clients that one contact may see at most. */
export const clientsMax = 100;

const checkClients = (role: Role, clients: readonly string[]): readonly string[] => {
  if (role !== 'contact' && clients.length > 0)
    throw new Fault('VALIDATION_ERROR', `Only a contact is bound to API clients; the role is ${role}`);
  if (role === 'contact' && clients.length === 0)
    throw new Fault('VALIDATION_ERROR', 'A contact needs at least one API client');
  if (clients.length > clientsMax)
    throw new Fault('VALIDATION_ERROR', `A contact sees at most ${clientsMax} API clients`);
  return [...new Set(clients)];
};

/** Contacts of one client. */
const contactsMax = 50;

/**
 * CONFLICT: one of these clients has as many contacts as it may have. It must come after the lock of the account. Clients are locked
 * in one order, so that two callers cannot block each other.
 */
export const assertRoom = async (tx: Kysely<unknown>, clients: readonly string[]): Promise<void> => {
  for (const client of clients.toSorted())
    if ((await countContactsToAdd(tx, client)) >= contactsMax)
      throw new Fault(
        'CONFLICT',
        `The client ${client} has ${contactsMax} contacts, and a client has at most ${contactsMax}`,
      );
};

const noSuchUser = (email: string): Fault => new Fault('NOT_FOUND', `There is no user ${email.slice(0, 300)}`);
