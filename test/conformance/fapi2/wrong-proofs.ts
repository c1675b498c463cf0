/** The wrong proofs of the conformance suite's module for DPoP, in its sequence. */
import { newProofKey, type ProofChange, type ProofKey } from '../../support/proofs.ts';

const inAnHour = (): number => Math.floor(Date.now() / 1000) + 3_600;
const anHourAgo = (): number => inAnHour() - 7_200;

type WrongProof = [name: string, make: () => Promise<string>];

/** `make`: a proof that is right but for the change. `key`: an RSA key, its own. */
export const wrongProofs = (key: ProofKey, make: (change?: ProofChange) => Promise<string>): WrongProof[] => {
  const change = (name: string, by: ProofChange): WrongProof => [name, () => make(by)];
  const withHead = (name: string, head: object): WrongProof => [
    name,
    async () => {
      const [, claims, signature] = (await make()).split('.');
      return `${Buffer.from(JSON.stringify(head)).toString('base64url')}.${claims}.${signature}`;
    },
  ];
  const { privateKey, jwk } = key;
  return [
    ['not well-formed', async () => `${await make()}.x`],
    change('typ missing', { header: { typ: undefined } }),
    withHead('alg missing', { typ: 'dpop+jwt', jwk }),
    change('jwk missing', { header: { jwk: undefined } }),
    ...['jti', 'htm', 'htu', 'iat', 'ath'].map((name) => change(`${name} missing`, { claims: { [name]: undefined } })),
    change('typ wrong', { header: { typ: 'dpop+jwt2' } }),
    change('RS256', { signedBy: { ...key, alg: 'RS256' } }),
    withHead('none', { typ: 'dpop+jwt', alg: 'none', jwk }),
    ['signature wrong', async () => `${(await make()).slice(0, -10)}AAAAAAAAAA`],
    change('jwk private', { header: { jwk: privateKey.export({ format: 'jwk' }) } }),
    change('htm wrong', { claims: { htm: 'PUT' } }),
    change('htu wrong', { claims: { htu: 'https://other.example/' } }),
    change('iat in an hour', { claims: { iat: inAnHour() } }),
    change('iat an hour ago', { claims: { iat: anHourAgo() } }),
    change('ath wrong', { claims: { ath: 'wrong' } }),
    change('another key', { signedBy: newProofKey() }),
  ];
};
