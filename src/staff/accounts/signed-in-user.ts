/** The signed-in user as other features see it, without hashes and secrets. Pure. */
import type { Role } from './role.ts';
import type { UserRow } from './user-store.ts';

export type SignedInUser = {
  id: string;
  email: string;
  role: Role;
  /** Undefined when the user has not chosen one. */
  language: string | undefined;
  /** The restaurants of an owner; members of staff see every restaurant. */
  restaurants: readonly string[];
  /** The API clients of a contact; empty for other roles. */
  clients: readonly string[];
  /** False when the user can sign in with the external provider only. */
  hasPassword: boolean;
  /** The second factor is on. */
  hasTotp: boolean;
  hasPasskey: boolean;
};

export const signedInUser = (user: UserRow): SignedInUser => ({
  id: user.id,
  email: user.email,
  role: user.role,
  language: user.language,
  restaurants: user.restaurants,
  clients: user.clients,
  hasPassword: user.password !== undefined,
  hasTotp: user.totpSince !== undefined,
  hasPasskey: user.passkeys > 0,
});
