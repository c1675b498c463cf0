/**
 * Tokens of orders (interface 10.1). A token is derived from the uid of its order by HMAC-SHA-256 under a key of this
 * installation. The database stores none, so a copy of the database does not allow anyone to confirm or cancel an
 * order.
 */
import { createHmac, createSecretKey } from 'node:crypto';

/** 256 bits as base64url, 43 characters; the same for the same uid. */
export type OrderToken = (uid: string) => string;

/** `key`: 32 bytes. */
export const createOrderToken = (key: Buffer): OrderToken => {
  const secret = createSecretKey(key);
  return (uid) => createHmac('sha256', secret).update(uid).digest('base64url');
};

/** The stored value in place of a derived token. */
export const derivedMark = '';

/** Adds the derived token to an order from the database. Orders of earlier versions have a stored token. */
export const withToken = <O extends { uid: string; token: string }>(order: O, tokenOf: OrderToken): O =>
  order.token === derivedMark ? Object.assign(order, { token: tokenOf(order.uid) }) : order;
