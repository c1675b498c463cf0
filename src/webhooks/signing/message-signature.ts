/**
 * HTTP Message Signatures (RFC 9421) and Content-Digest (RFC 9530): the signature base of any message, and the signature
 * of a delivery over it (interface 31).
 */
import { hash, type KeyObject, sign } from 'node:crypto';
import { signEs256 } from '#src/contract/es256.ts';

/** How an endpoint wants its deliveries signed beside Standard Webhooks. */
export const signatureSchemes = ['rfc9421:ed25519', 'rfc9421:ecdsa-p256'] as const;
export type SignatureScheme = (typeof signatureSchemes)[number];

/** Names of RFC 9421 section 6.2.2. */
export type SignatureAlgorithm = 'ed25519' | 'ecdsa-p256-sha256';

const algorithms: Readonly<Record<SignatureScheme, SignatureAlgorithm>> = {
  'rfc9421:ed25519': 'ed25519',
  'rfc9421:ecdsa-p256': 'ecdsa-p256-sha256',
};

/** A covered component: its identifier as it is serialised, such as `"@method"` or `"@query-param";name="Pet"`. */
type Component = readonly [identifier: string, value: string];

/** The bytes to sign (RFC 9421 section 2.5). `parameters`: the value of `@signature-params`. */
export const signatureBase = (components: readonly Component[], parameters: string): string =>
  [...components, ['"@signature-params"', parameters] as const]
    .map(([identifier, value]) => `${identifier}: ${value}`)
    .join('\n');

/** Signs a base. ECDSA gives 64 bytes, r and s one after the other (section 3.3.4). */
export const signBase = (algorithm: SignatureAlgorithm, key: KeyObject, base: string): Buffer =>
  algorithm === 'ed25519' ? sign(null, Buffer.from(base), key) : signEs256(key, base);

/** Signs a text in base64. A promise where another thread signs. */
export type SignText = (key: KeyObject, text: string) => string | Promise<string>;

/** The same in this thread, by the algorithm of the key. */
export const signText = (key: KeyObject, text: string): string =>
  signBase(key.asymmetricKeyType === 'ed25519' ? 'ed25519' : 'ecdsa-p256-sha256', key, text).toString('base64');

/** The value of `Content-Digest` for a body. */
export const contentDigest = (body: string): string => `sha-256=:${hash('sha256', body, 'base64')}:`;

/** Interface 31: the tag of deliveries, and how long a signature is valid, as long as receivers of `v1` accept one. */
const deliveryTag = 'orderpass-webhook';
const validSeconds = 300;

/** `Content-Type` of every delivery. */
export const deliveryType = 'application/json';

const coveredFields = ['content-digest', 'content-type', 'webhook-id', 'webhook-timestamp'] as const;

/** What all deliveries to a URL have in common: building it anew for each costs a fifth of the signature itself. */
type Target = {
  /** Identifiers of the components, as the parameters list them. */
  covered: string;
  /** The base around the values of the covered fields and the parameters. */
  parts: readonly string[];
};

/** A field value and a parameter have no such character. */
const gap = '\0';

const targetOf = (text: string): Target => {
  const { host: authority, pathname: path, search: query } = new URL(text);
  const components: Component[] = [
    ['"@method"', 'POST'],
    ['"@authority"', authority],
    ['"@path"', path],
    // Receivers often read a query, so it must not be open to changes.
    ...(query === '' ? [] : [['"@query"', query] as const]),
    ...coveredFields.map((name) => [`"${name}"`, gap] as const),
  ];
  return {
    covered: components.map(([identifier]) => identifier).join(' '),
    parts: signatureBase(components, gap).split(gap),
  };
};

type Message = {
  scheme: SignatureScheme;
  kid: string;
  /** Where the POST goes. */
  url: string;
  eventId: string;
  timestampSeconds: number;
  body: string;
};

/** The fields beside `signature`, whose value is over the base. */
type DescribedMessage = { fields: Record<'content-digest' | 'signature-input', string>; base: string };

const ownNames: ReadonlySet<string> = new Set(['content-digest', 'signature-input', 'signature']);

/** A signed delivery has a header of this name. */
export const isSignatureField = (name: string): boolean => ownNames.has(name.toLowerCase());

type DescribeMessage = (message: Message) => DescribedMessage;

/** chosen: addresses whose parts are cached before the cache starts over. */
const targetsMax = 4_096;

export const createDescribeMessage = (): DescribeMessage => {
  const targets = new Map<string, Target>();
  const known = (text: string): Target => {
    const found = targets.get(text);
    if (found !== undefined) return found;
    if (targets.size >= targetsMax) targets.clear();
    const target = targetOf(text);
    targets.set(text, target);
    return target;
  };
  return ({ scheme, kid, url, eventId, timestampSeconds: created, body }) => {
    const { covered, parts } = known(url);
    const digest = contentDigest(body);
    // In this order, since some verifiers write the parameters anew in it, such as `httpsig` of Rust.
    const parameters = `(${covered});created=${created};expires=${created + validSeconds};alg="${algorithms[scheme]}";keyid="${kid}";tag="${deliveryTag}"`;
    return {
      fields: { 'content-digest': digest, 'signature-input': `sig=${parameters}` },
      // The values in the sequence of `coveredFields`.
      base: `${parts[0]}${digest}${parts[1]}${deliveryType}${parts[2]}${eventId}${parts[3]}${created}${parts[4]}${parameters}`,
    };
  };
};

/** The value of `signature`. */
export const signatureField = (signature: string): string => `sig=:${signature}:`;
