/** Pure: the source of a request: its address, which the audit names, and the network in which failures are counted. */
import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { plainAddress } from './address-list.ts';

/**
 * An IPv4 address, also where it is written as an IPv4-mapped one, or the first 64 bits of an IPv6 one, since a holder of one address
 * has the whole network.
 */
export type SourceOf = (req: IncomingMessage) => string;

/**
 * `hops`: number of the operator's proxies in front. Each appends the address that it saw to X-Forwarded-For, so the entry
 * that many places from the end is the first one that a client cannot forge. Without a usable entry the address of the
 * socket counts.
 */
export const createSourceOf = (hops: number): SourceOf => {
  // Behind a proxy the same address follows itself, so the last result is kept.
  let lastAddress = '';
  let lastPeer = 'unknown';
  return (req) => {
    const { remoteAddress = '' } = req.socket;
    if (remoteAddress !== lastAddress) {
      lastAddress = remoteAddress;
      lastPeer = networkOf(remoteAddress) ?? 'unknown';
    }
    const peer = lastPeer;
    if (hops === 0) return peer;
    const given = req.headers['x-forwarded-for'];
    if (given === undefined) return peer;
    return networkOf(seenBehind(given, hops)) ?? peer;
  };
};

/** The whole address, an IPv4-mapped one as IPv4; undefined when the client is gone. */
export type AddressOf = (req: IncomingMessage) => string | undefined;

/** The same source as that of `createSourceOf`, with all its bits. */
export const createAddressOf = (hops: number): AddressOf => {
  // As in `createSourceOf`: every allowed request asks for it.
  let lastAddress = '';
  let lastPeer: string | undefined;
  return (req) => {
    const given = hops === 0 ? undefined : req.headers['x-forwarded-for'];
    const seen = given === undefined ? undefined : plainAddress(seenBehind(given, hops));
    if (seen !== undefined) return seen;
    const { remoteAddress = '' } = req.socket;
    if (remoteAddress !== lastAddress) {
      lastAddress = remoteAddress;
      lastPeer = plainAddress(remoteAddress);
    }
    return lastPeer;
  };
};

/** `network`: the one of `SourceOf`. */
export type Source = { address: string; network: string };

/** Both sources of a request. Of a client that is gone, neither names an address. */
export const createReadSource = (hops: number): ((req: IncomingMessage) => Source) => {
  const sourceOf = createSourceOf(hops);
  const addressOf = createAddressOf(hops);
  return (req) => {
    const network = sourceOf(req);
    return { address: addressOf(req) ?? network, network };
  };
};

/** The entry of X-Forwarded-For that the outermost of the operator's proxies appended. */
const seenBehind = (given: string | string[], hops: number): string => {
  const seen = (Array.isArray(given) ? given.join(',') : given).split(',');
  return withoutPort((seen[Math.max(0, seen.length - hops)] ?? '').trim());
};

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => {
  const bracketed = /^\[([^\]]+)\](:\d+)?$/.exec(text);
  if (bracketed !== null) return bracketed[1] ?? '';
  return /^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text;
};

/** An IPv4 address, or the first 64 bits of an IPv6 one; undefined for any other text. */
export const networkOf = (address: string): string | undefined => {
  const plain = plainAddress(address);
  return plain === undefined || isIPv4(plain) ? plain : `${firstGroups(plain).join(':')}::/64`;
};

/** The first four of eight groups. An address has at most one `::`, and a dotted end concerns the last two groups only. */
const firstGroups = (address: string): string[] => {
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.replace(/\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/, '0:0').split(':');
    const missing = 8 - groups.length - after.length;
    groups.push(...Array.from({ length: missing }, () => '0'), ...after);
  }
  return groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
};
