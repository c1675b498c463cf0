/** Pure: what others may know of whoever is signed in: no hash, no secret. */
import type { Role } from './role.ts';
import type { UserRow } from './user-store.ts';

export type SignedInUser = {
  id: string;
  email: string;
  role: Role;
  /** Undefined: not chosen. */
  language: string | undefined;
  /** What an owner sees; other roles see every restaurant. */
  restaurants: readonly string[];
  /** Without one somebody signs in by an external provider only. */
  hasPassword: boolean;
  /** The second factor is on. */
  hasTotp: boolean;
};

export const signedInUser = (user: UserRow): SignedInUser => ({
  id: user.id,
  email: user.email,
  role: user.role,
  language: user.language,
  restaurants: user.restaurants,
  hasPassword: user.password !== undefined,
  hasTotp: user.totpSince !== undefined,
});
