/**
 * Tokens of orders (interface 10.1). One is derived from the uid of its order by HMAC-SHA-256 under a key of this
 * installation, so the database holds none: a copy of it lets its reader confirm or cancel nothing.
 */
import { createHmac, createSecretKey } from 'node:crypto';

/** 256 bits as base64url, 43 characters; the same for the same uid. */
export type OrderToken = (uid: string) => string;

/** `key`: 32 bytes. */
export const createOrderToken = (key: Buffer): OrderToken => {
  const secret = createSecretKey(key);
  return (uid) => createHmac('sha256', secret).update(uid).digest('base64url');
};

/** What the database holds instead of a token that is derived. */
export const derivedMark = '';

/** Gives an order from the database its token; orders of earlier versions brought theirs with them. */
export const withToken = <O extends { uid: string; token: string }>(order: O, tokenOf: OrderToken): O =>
  order.token === derivedMark ? Object.assign(order, { token: tokenOf(order.uid) }) : order;
