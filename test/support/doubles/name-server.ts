/** A real name server on loopback whose answers a test sets, for the resolver of the program to ask. */
import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

export type NameServer = {
  /** `address:port`, as a resolver takes it. */
  address: string;
  /** Questions so far, as `name type`. */
  asked: string[];
  /** Addresses of every name, IPv4 and IPv6; undefined: it keeps silent. `type`: it is silent about the other one. */
  answer(addresses: readonly string[] | undefined, type?: 'A' | 'AAAA'): void;
  close(): Promise<void>;
};

const typeA = 1;
const typeAaaa = 28;
const secondsToLive = 0;

export const startNameServer = async (): Promise<NameServer> => {
  const asked: string[] = [];
  let addresses: readonly string[] | undefined = [];
  let answered: 'A' | 'AAAA' | undefined;
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const { name, end } = readName(message);
    const type = message.readUInt16BE(end);
    const typeName = type === typeA ? 'A' : type === typeAaaa ? 'AAAA' : String(type);
    asked.push(`${name} ${typeName}`);
    if (addresses === undefined || (answered !== undefined && typeName !== answered)) return;
    const fitting = addresses.filter((address) =>
      type === typeA ? isIPv4(address) : type === typeAaaa && !isIPv4(address),
    );
    const header = Buffer.alloc(12);
    message.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(fitting.length, 6);
    const question = message.subarray(12, end + 4);
    socket.send(
      Buffer.concat([header, question, ...fitting.map((address) => record(type, address))]),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    answer: (next, type) => {
      addresses = next;
      answered = type;
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
};

const readName = (message: Buffer): { name: string; end: number } => {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
};

/** An answer that names the question's name by reference. */
const record = (type: number, address: string): Buffer => {
  const data = type === typeA ? Buffer.from(address.split('.').map(Number)) : bytesOfIpv6(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(secondsToLive, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
};

const bytesOfIpv6 = (address: string): Buffer => {
  // The URL parser writes out the dotted end that some addresses have.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [left = '', right] = plain.split('::');
  const groups = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'));
  const missing = 8 - groups(left).length - groups(right).length;
  const all =
    right === undefined ? groups(left) : [...groups(left), ...Array<string>(missing).fill('0'), ...groups(right)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
};
