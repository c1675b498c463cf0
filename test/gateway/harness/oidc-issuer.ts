/** An OpenID Connect issuer of a test: its discovery document, its keys, and the assertions that it signs. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { Pair } from './make-certificate.ts';
import { closeServer, listen } from './public-door.ts';

type IssuerKey = { kid: string; alg: string; privateKey: CryptoKey; jwk: JWK };

export type OidcIssuer = {
  url: string;
  /** Paths of the requests, oldest first. */
  asked: string[];
  /** What is published, and answers each request unless a test sets another answer. */
  published: JWK[];
  answer: RequestListener;
  current: IssuerKey;
  makeKey(kid: string, alg?: string): Promise<IssuerKey>;
  /** `claims`: members that are undefined are left out. */
  sign(claims: Record<string, unknown>, more?: { key?: IssuerKey; header?: Record<string, unknown> }): Promise<string>;
  close(): Promise<void>;
};

export const discoveryPath = '/.well-known/openid-configuration';

/** `tls`: certificate for 127.0.0.1; without it the issuer speaks plain http. */
export const startOidcIssuer = async (now: () => Date, alg = 'RS256', tls?: Pair): Promise<OidcIssuer> => {
  const asked: string[] = [];
  const answer: RequestListener = (req, res) => {
    asked.push(req.url ?? '');
    issuer.answer(req, res);
  };
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  const url = (await listen(server)).replace(/^http:/, tls === undefined ? 'http:' : 'https:');
  const makeKey: OidcIssuer['makeKey'] = async (kid, ofAlg = alg) => {
    const { publicKey, privateKey } = await generateKeyPair(ofAlg, { extractable: true });
    return { kid, alg: ofAlg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: ofAlg } };
  };
  const first = await makeKey('first');
  const issuer: OidcIssuer = {
    url,
    asked,
    published: [first.jwk],
    answer: (req, res) => {
      const body =
        req.url === discoveryPath
          ? { issuer: url, jwks_uri: `${url}/keys` }
          : req.url === '/keys'
            ? { keys: issuer.published }
            : undefined;
      res.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
      res.end(JSON.stringify(body ?? {}));
    },
    current: first,
    makeKey,
    sign: (claims, { key = issuer.current, header } = {}) => {
      const seconds = Math.floor(now().getTime() / 1000);
      const whole = { iss: url, iat: seconds, exp: seconds + 300, jti: crypto.randomUUID(), ...claims };
      const present = Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== undefined));
      return new SignJWT(present)
        .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
        .sign(key.privateKey, { crit: { strange: true } });
    },
    close: () => closeServer(server),
  };
  return issuer;
};
