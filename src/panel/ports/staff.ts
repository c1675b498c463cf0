/** Accounts, sessions and sign-in of the staff; `src/app/admin/staff.ts` wires the feature `staff` to it. */
import type { Role } from './role.ts';

/** Whoever is signed in: no hash, no secret. */
export type SignedInUser = {
  id: string;
  email: string;
  role: Role;
  /** Undefined: not chosen. */
  language: string | undefined;
  /** What an owner sees; other roles see every restaurant. */
  restaurants: readonly string[];
  hasPassword: boolean;
  /** The second factor is on. */
  hasTotp: boolean;
};

export type SignInMethod = 'password' | 'totp' | 'recovery' | 'oidc' | 'link';

export type StaffSession = {
  /** Names it in lists; opens nothing. */
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
  /** A message waits for the next page. */
  hasMessage: boolean;
  csrfToken: string;
};

/** What the browser is to keep, and for how long. */
export type Kept = { value: string; seconds: number };

/** Who asks. `browser`: what an earlier sign-in gave this browser to keep. */
export type Visitor = { address: string; agent: string; browser: string | undefined };

type Wait = { kind: 'wait'; seconds: number };

/** `session`: token of the session. `code`: right so far, and the code of the second factor is missing. */
export type SignInResult =
  | { kind: 'signedIn'; session: string; browser: Kept }
  | { kind: 'code'; pending: Kept }
  | { kind: 'refused' }
  | Wait;

export type PasswordProblem = 'passwordShort' | 'passwordLong' | 'passwordCommon';

/** To be put into an authenticator app: as text, and as the address that its picture holds. */
export type ProposedTotp = { key: string; address: string };

export type ListedUser = {
  user_id: string;
  email: string;
  role: Role;
  restaurants: readonly string[];
  state: 'active' | 'invited' | 'disabled';
  totp: boolean;
  /** RFC 3339. */
  created: string;
};

/** Who does something to a session: the actor of the audit, and from where. */
type By = { actor: string; address: string };

type SessionPorts = {
  /** The live session of a token. `isUse`: somebody did something, so it goes on. */
  find(token: string | undefined, isUse: boolean): Promise<LiveSession | undefined>;
  keepMessage(sessionId: string, message: string): Promise<void>;
  /** The message, once. */
  takeMessage(sessionId: string): Promise<string | undefined>;
};

type SignInPorts = {
  withPassword(given: { email: string; password: string }, visitor: Visitor): Promise<SignInResult>;
  /** `pending`: what the first factor gave to keep. `gone`: it is none, or too old. */
  withCode(pending: string | undefined, code: string, visitor: Visitor): Promise<SignInResult | { kind: 'gone' }>;
  /** Whom a one-time link is for; undefined when it can not be used. */
  userOfLink(token: string): Promise<{ email: string } | undefined>;
  withLink(token: string, password: string, visitor: Visitor): Promise<SignInResult>;
};

type ProviderPorts = {
  /** What the external provider is called; undefined: there is none. */
  label: string | undefined;
  /** Undefined when the provider cannot be asked now. */
  begin(next: string): Promise<{ url: string; pending: Kept } | undefined>;
  /** `pending`: what `begin` gave to keep; `query`: what the browser came back with. */
  finish(
    pending: string | undefined,
    query: URLSearchParams,
    visitor: Visitor,
  ): Promise<{ result: SignInResult | { kind: 'failed' } | { kind: 'unknown' }; next: string }>;
};

type SecondFactorPorts = {
  /** Recovery codes. */
  codesLeft(userId: string): Promise<number>;
  /** A new secret to be confirmed; undefined when one is in use. */
  propose(userId: string): Promise<ProposedTotp | undefined>;
  /** What was proposed last. */
  proposed(userId: string): Promise<ProposedTotp | undefined>;
  /** The recovery codes; undefined for a wrong code. */
  confirm(userId: string, code: string, session: { id: string; address: string }): Promise<string[] | undefined>;
};

type OwnPorts = {
  judgePassword(userId: string, given: string, visitor: Visitor): Promise<{ kind: 'right' | 'refused' } | Wait>;
  /** Ends every other session. */
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
  /** False: the user has no such session. */
  endSession(userId: string, sessionId: string, by: By): Promise<boolean>;
  /** Differs when a session of the user came, was used or went, or the ways to sign in are others. */
  mark(userId: string): Promise<string>;
  /** All but the one named; returns how many ended. */
  endSessions(userId: string, by: By, exceptId?: string): Promise<number>;
};

/** Throws Faults: NOT_FOUND, CONFLICT. */
type UserPorts = {
  /** By email, those after `after`. */
  list(after: string, limit: number): Promise<ListedUser[]>;
  find(id: string): Promise<ListedUser | undefined>;
  /** A new one-time link; the former ends. */
  makeLink(actor: string, email: string): Promise<{ link: string; expires: string }>;
  /** Ends every session and link at once. */
  disable(actor: string, email: string): Promise<unknown>;
  enable(actor: string, email: string): Promise<unknown>;
  removeTotp(actor: string, email: string): Promise<unknown>;
  /** Differs when an account or a session came, went or has another state. */
  mark(): Promise<string>;
};

export type StaffPorts = {
  sessions: SessionPorts;
  signIn: SignInPorts;
  provider: ProviderPorts;
  secondFactor: SecondFactorPorts;
  /** Which passwords are taken. `email`: a password must not be made of it. */
  passwordRule: {
    lengthMin: number;
    lengthMax: number;
    problemOf(password: string, email: string): PasswordProblem | undefined;
  };
  own: OwnPorts;
  users: UserPorts;
};
