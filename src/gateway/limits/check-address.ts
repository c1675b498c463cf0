/** Finds calls from an address that the list of their credential does not have (interface 20.7). */
import type { IncomingMessage } from 'node:http';
import { type AddressList, createAddressList } from './address-list.ts';
import type { AddressOf } from './source-address.ts';

/** Undefined: the call may come from there. Otherwise the address that it came from. */
export type CheckAddress = (
  caller: { id: string; allowIp?: readonly string[] | undefined },
  req: IncomingMessage,
) => string | undefined;

type CheckAddressDeps = {
  addressOf: AddressOf;
  /** Keeps the call for the holder of the credential. */
  noteElsewhere: (callerId: string, address: string) => void;
};

const unknown = 'an unknown address';

export const createCheckAddress = ({ addressOf, noteElsewhere }: CheckAddressDeps): CheckAddress => {
  // A change of the credential brings a new list; the old one goes with its record.
  const lists = new WeakMap<readonly string[], AddressList>();
  const listOf = (networks: readonly string[]): AddressList => {
    const known = lists.get(networks);
    if (known !== undefined) return known;
    const made = createAddressList(networks);
    lists.set(networks, made);
    return made;
  };
  return ({ id, allowIp }, req) => {
    if (allowIp === undefined) return undefined;
    const address = addressOf(req);
    if (address !== undefined && listOf(allowIp).has(address)) return undefined;
    noteElsewhere(id, address ?? unknown);
    return address ?? unknown;
  };
};
