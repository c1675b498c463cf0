/** The port of accounts, sessions and sign-in; the feature `staff` implements it (`src/app/admin/staff.ts`). */
import type { Role } from './role.ts';

/** The signed-in user, without any hash or secret. */
export type SignedInUser = {
  id: string;
  email: string;
  role: Role;
  /** Undefined until the user has chosen one. */
  language: string | undefined;
  /** The restaurants of an owner; members of staff may see every restaurant. */
  restaurants: readonly string[];
  /** The API clients of a contact; empty for other roles. */
  clients: readonly string[];
  hasPassword: boolean;
  /** True when the second factor is on. */
  hasTotp: boolean;
  hasPasskey: boolean;
};

type SignInMethod = 'password' | 'totp' | 'recovery' | 'oidc' | 'link' | 'passkey';

export type StaffSession = {
  /** The public id of the session, not its token. */
  id: string;
  createdAt: Date;
  seenAt: Date;
  address: string;
  agent: string;
  method: SignInMethod;
};

export type LiveSession = {
  session: StaffSession;
  user: SignedInUser;
  /** True when a message is stored for the next page. */
  hasMessage: boolean;
  csrfToken: string;
  /** The role needs a second factor, and this session has proved none: only pages that add one may open. */
  needsFactor: boolean;
};

/** A value for a cookie, and its lifetime. */
export type Kept = { value: string; seconds: number };

/** The sender of a request. `browser`: value of the cookie that an earlier sign-in set. */
export type Visitor = { address: string; network: string; agent: string; browser: string | undefined };

type Wait = { kind: 'wait'; seconds: number };

/**
 * `session`: token of the new session. `code`: the first factor is right, and the code of the second factor is
 * required.
 */
export type SignInResult =
  | { kind: 'signedIn'; session: string; browser: Kept }
  | { kind: 'code'; pending: Kept }
  | { kind: 'refused' }
  | Wait;

type PasswordProblem = 'passwordShort' | 'passwordLong' | 'passwordCommon';

/** The secret for an authenticator app: as text, and as the otpauth address in the QR code. */
/** `proof`: the form of the proposal sends it back. It is for this session and some minutes. */
export type ProposedTotp = { key: string; address: string; proof: string };

export type ListedUser = {
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

/** The author of a change: the actor as the audit records it, and the source address. */
type By = { actor: string; address: string };

type SessionPorts = {
  /** The live session of a token. `isUse`: the user sent the request, so the idle timeout starts again. */
  find(token: string | undefined, isUse: boolean): Promise<LiveSession | undefined>;
  keepMessage(sessionId: string, message: string): Promise<void>;
  /** Returns the message and deletes it. */
  takeMessage(sessionId: string): Promise<string | undefined>;
};

type SignInPorts = {
  withPassword(given: { email: string; password: string }, visitor: Visitor): Promise<SignInResult>;
  /** `pending`: cookie value of the first factor. Result `gone`: it is unknown or expired. */
  withCode(pending: string | undefined, code: string, visitor: Visitor): Promise<SignInResult | { kind: 'gone' }>;
  /** The user of a one-time link; undefined when the link is not valid. */
  userOfLink(token: string): Promise<{ email: string } | undefined>;
  withLink(token: string, password: string, visitor: Visitor): Promise<SignInResult>;
};

type ProviderPorts = {
  /** The name of the external provider; undefined when none is configured. */
  label: string | undefined;
  /** Undefined when the provider is not reachable. */
  begin(next: string): Promise<{ url: string; pending: Kept } | undefined>;
  /** `pending`: cookie value of `begin`; `query`: the parameters of the return. */
  finish(
    pending: string | undefined,
    query: URLSearchParams,
    visitor: Visitor,
  ): Promise<{ result: SignInResult | { kind: 'failed' } | { kind: 'unknown' }; next: string }>;
};

type SecondFactorPorts = {
  /** The number of unused recovery codes. */
  codesLeft(userId: string): Promise<number>;
  /** Proposes a new secret, which must be confirmed; undefined when the second factor is on already. */
  propose(userId: string, sessionId: string): Promise<ProposedTotp | undefined>;
  /** The last proposed secret; undefined when the proof is of another session or too old. */
  proposed(userId: string, sessionId: string, proof: string): Promise<ProposedTotp | undefined>;
  /** Turns the second factor on and returns the recovery codes; undefined for a wrong code or proof. */
  confirm(
    userId: string,
    given: { code: string; proof: string },
    session: { id: string; address: string },
  ): Promise<string[] | undefined>;
};

type ShownPasskey = { id: string; name: string; createdAt: Date; usedAt: Date | undefined };

/** `options`: for the browser, as JSON. `state`: comes back with the answer of the browser. */
type BegunPasskey = { options: string; state: Kept };

type PasskeyPorts = {
  /** False: the origin has no host name, without which browsers know no passkeys. */
  isOn: boolean;
  nameLengthMax: number;
  list(userId: string): Promise<ShownPasskey[]>;
  /** Undefined when the account has as many passkeys as it may have. */
  begin(userId: string, sessionId: string, name: string): Promise<BegunPasskey | undefined>;
  /** Adds the passkey, ends the other sessions, and returns its name; undefined when the answer is refused. */
  add(
    userId: string,
    given: { state: string; answer: string },
    session: { id: string; address: string },
  ): Promise<string | undefined>;
  /** `name`: 1 to `nameLengthMax` characters. Returns false when the user has no such passkey. */
  rename(userId: string, id: string, name: string, address: string): Promise<boolean>;
  /** Ends the user's other sessions that a passkey opened. Returns false when the user has no such passkey. */
  remove(userId: string, id: string, session: { id: string; address: string }): Promise<boolean>;
  beginSignIn(): BegunPasskey;
  signIn(state: string | undefined, answer: string, visitor: Visitor): Promise<SignInResult>;
};

type OwnPorts = {
  checkPassword(userId: string, given: string, visitor: Visitor): Promise<{ kind: 'right' | 'refused' } | Wait>;
  /** Changes the password and ends every other session. */
  changePassword(
    change: { userId: string; sessionId: string; current: string; next: string },
    visitor: Visitor,
  ): Promise<{ kind: 'changed' | 'refused' } | Wait>;
  removeSecondFactor(
    user: { id: string; email: string },
    code: string,
    visitor: Visitor,
  ): Promise<{ kind: 'removed' | 'refused' } | Wait>;
  /** Newest first. */
  sessions(userId: string): Promise<StaffSession[]>;
  signOut(userId: string, sessionId: string, by: By): Promise<void>;
  setLanguage(userId: string, language: string): Promise<void>;
  /** Returns false when the user has no such session. */
  endSession(userId: string, sessionId: string, by: By): Promise<boolean>;
  /** A text that differs when a session of the user begins, is used or ends, or when the sign-in methods change. */
  mark(userId: string): Promise<string>;
  /** Ends all sessions except `except`; returns how many ended. */
  endSessions(userId: string, by: By, exceptId?: string): Promise<number>;
};

/** A link that sets the password once. */
export type OneTimeLink = { link: string; expires: Date };

/** `userId` and `email` name the account of the link. */
type MadeLink = OneTimeLink & { userId: string; email: string };

/** Throws Faults: NOT_FOUND, CONFLICT, VALIDATION_ERROR. */
type UserPorts = {
  /** Ordered by email, from the first one after `after`. */
  list(after: string, limit: number): Promise<ListedUser[]>;
  find(id: string): Promise<ListedUser | undefined>;
  /** Creates a new one-time link and ends the former one. */
  makeLink(actor: string, email: string): Promise<MadeLink>;
  /** Creates an account with its first link. Throws CONFLICT when there is one with this email. */
  create(actor: string, user: { email: string; role: Role; restaurants: readonly string[] }): Promise<MadeLink>;
  /**
   * Sets role and restaurants, which hold from the user's next request. Throws CONFLICT for the last administrator, and what `check`
   * throws, which gets what is stored under the lock of the account.
   */
  set(
    actor: string,
    email: string,
    access: { role: Role; restaurants: readonly string[] },
    check: (stored: ListedUser) => void,
  ): Promise<unknown>;
  /** Disables the account and ends its sessions and its link at once. */
  disable(actor: string, email: string): Promise<unknown>;
  enable(actor: string, email: string): Promise<unknown>;
  removeTotp(actor: string, email: string): Promise<unknown>;
  /** Removes all passkeys of a user and ends the sessions. */
  removePasskeys(actor: string, email: string): Promise<unknown>;
  /** A text that differs after a change of an account or a session. */
  mark(): Promise<string>;
};

/** Searches of the audit that a user keeps under a name. */
type SavedSearch = {
  name: string;
  /** The filter, as the address of the search page holds it. */
  query: string;
};

type SearchPorts = {
  /** By name. */
  list(userId: string): Promise<readonly SavedSearch[]>;
  /** Replaces the search of the same name. `refused`: the name is empty or has more than 60 characters. */
  save(userId: string, search: SavedSearch, by: By): Promise<'saved' | 'refused' | 'full'>;
  /** False when the user has no such search. */
  remove(userId: string, name: string, by: By): Promise<boolean>;
};

/** The mails with a one-time link: for a new account of staff, for a contact of a client, for a forgotten password. */
export type LinkKind = 'invitation' | 'contact' | 'reset';

/** Mail to accounts. */
type MailPorts = {
  /** False when no mail server is configured. */
  isOn: boolean;
  /** Mails a link in the language of the account, or in `language` when it has chosen none. */
  sendLink(userId: string, kind: LinkKind, link: OneTimeLink, language: string): Promise<'sent' | 'failed'>;
  /** Mails a link to the account of this email, if there is one. The result does not depend on that. */
  sendToForgetful(email: string, visitor: Visitor, language: string): Promise<{ kind: 'asked' } | Wait>;
};

/** The roles that need a second factor. */
type FactorPolicyPorts = {
  read(): Promise<Role[]>;
  /** Throws what `check` throws, which gets what is stored under the lock of the roles. */
  set(actor: string, roles: readonly string[], check: (stored: readonly Role[]) => void): Promise<void>;
};

type NoticeKind =
  | 'endpoint_disabled'
  | 'key_ending'
  | 'credential_ending'
  | 'leak_reported'
  | 'refusals'
  | 'audit_broken';

/** What a user wants to be notified of, and where. */
type NoticeChoices = {
  kinds: readonly NoticeKind[];
  mail: boolean;
  /** Of the stored address, the rest of which is not shown. */
  urlOrigin: string | undefined;
  /** A secret signs what is posted to the address. */
  isSigned: boolean;
  /** The secret before the present one signs too until then. */
  previousSecretEnds: Date | undefined;
};

type NoticePorts = {
  /** What a user of the role may choose. */
  kindsFor(role: Role): NoticeKind[];
  read(userId: string): Promise<NoticeChoices>;
  /**
   * `url`: a new address, which gets a new secret; undefined keeps the stored one. `refused`: nothing may be posted to it,
   * and nothing was changed.
   */
  save(
    userId: string,
    given: { kinds: readonly string[]; mail: boolean; url: string | undefined; removeUrl: boolean },
    address: string,
  ): Promise<{ kind: 'refused' } | { kind: 'saved'; secret: string | undefined }>;
  /**
   * A new secret; the former one signs too for a day. `absent`: no address is stored. `overlap_running`: the secret before the present
   * one signs too, and nothing was changed.
   */
  rotateSecret(userId: string, address: string): Promise<{ secret: string } | 'absent' | 'overlap_running'>;
};

/**
 * The contacts of one API client. `invite` and `remove` throw Faults: VALIDATION_ERROR when the text is no email, CONFLICT
 * when an account of staff or a disabled one has it or there are too many, NOT_FOUND when the account is no contact of the
 * client.
 */
type ContactPorts = {
  /** Sorted by email. */
  list(clientId: string): Promise<ListedUser[]>;
  /** `link`: undefined when the contact has a password already, and now sees this client too. */
  invite(actor: string, clientId: string, email: string): Promise<ListedUser & { link: OneTimeLink | undefined }>;
  /** Takes effect with the next request of the contact. */
  remove(actor: string, clientId: string, userId: string): Promise<ListedUser>;
};

export type StaffPorts = {
  sessions: SessionPorts;
  signIn: SignInPorts;
  provider: ProviderPorts;
  secondFactor: SecondFactorPorts;
  /** The rule for new passwords. A password must not contain the email. */
  passwordRule: {
    lengthMin: number;
    lengthMax: number;
    problemOf(password: string, email: string): PasswordProblem | undefined;
  };
  searches: SearchPorts;
  own: OwnPorts;
  users: UserPorts;
  factorPolicy: FactorPolicyPorts;
  mail: MailPorts;
  notices: NoticePorts;
  passkeys: PasskeyPorts;
  contacts: ContactPorts;
};
