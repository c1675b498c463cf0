/**
 * WebAuthn for one origin: options for the browser, and verification of its answers. User verification is required, so an
 * answer proves possession and a fingerprint or PIN. The library is loaded at the first use, because it is large and most
 * processes never need it.
 */
import { isIP } from 'node:net';
import { z } from 'zod';

const base64url = z
  .string()
  .regex(/^[\w-]+$/)
  .max(20_000);
const common = { id: base64url, rawId: base64url, type: z.literal('public-key') };

const created = z.object({
  ...common,
  response: z.object({ clientDataJSON: base64url, attestationObject: base64url }),
});

const asserted = z.object({
  ...common,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish(),
  }),
});

/** EdDSA, ES256, RS256. */
const algorithms = [-8, -7, -257];
const timeoutMs = 120_000;

export type NewCredential = { credentialId: Buffer; publicKey: Buffer; counter: number };

export type Assertion = { credentialId: Buffer; userId: string | undefined; answer: z.infer<typeof asserted> };

/** `origin`: public origin of the server. */
export const createWebAuthn = (origin: string) => {
  const { hostname } = new URL(origin);
  return {
    /** False: browsers know no passkeys for an address without a name. */
    isOn: isIP(hostname.replaceAll(/[[\]]/g, '')) === 0,
    ...optionsFor(hostname),
    /** Undefined: the answer is not for this challenge, origin and host, or the user was not verified. */
    verifyCreated: async (text: string, challenge: string): Promise<NewCredential | undefined> => {
      const answer = parse(created, text);
      if (answer === undefined) return undefined;
      const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
      try {
        const { verified, registrationInfo } = await verifyRegistrationResponse({
          response: { ...answer, clientExtensionResults: {} },
          expectedChallenge: challenge,
          expectedOrigin: origin,
          expectedRPID: hostname,
          supportedAlgorithmIDs: algorithms,
          requireUserVerification: true,
        });
        if (!verified) return undefined;
        const { credential } = registrationInfo;
        return {
          credentialId: Buffer.from(credential.id, 'base64url'),
          publicKey: Buffer.from(credential.publicKey),
          counter: credential.counter,
        };
      } catch {
        // The library throws for each answer that is malformed or does not match.
        return undefined;
      }
    },
    readAssertion: (text: string): Assertion | undefined => {
      const answer = parse(asserted, text);
      if (answer === undefined) return undefined;
      const { userHandle } = answer.response;
      return {
        credentialId: Buffer.from(answer.id, 'base64url'),
        userId: typeof userHandle === 'string' ? Buffer.from(userHandle, 'base64url').toString() : undefined,
        answer,
      };
    },
    /** The next counter of the passkey; undefined as in `verifyCreated`, or for a wrong signature or a counter that was used. */
    verifyAssertion: async (
      { answer }: Assertion,
      challenge: string,
      { credentialId, publicKey, counter }: NewCredential,
    ): Promise<number | undefined> => {
      const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
      const { userHandle, ...response } = answer.response;
      try {
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response: {
            ...answer,
            response: typeof userHandle === 'string' ? { ...response, userHandle } : response,
            clientExtensionResults: {},
          },
          expectedChallenge: challenge,
          expectedOrigin: origin,
          expectedRPID: hostname,
          credential: { id: credentialId.toString('base64url'), publicKey: new Uint8Array(publicKey), counter },
          requireUserVerification: true,
        });
        return verified ? authenticationInfo.newCounter : undefined;
      } catch {
        return undefined;
      }
    },
  };
};

const optionsFor = (hostname: string) => ({
  /** Options of `navigator.credentials.create`, with base64url in the place of bytes. */
  creationOptions: (
    user: { id: string; email: string },
    challenge: string,
    known: readonly { credentialId: Buffer }[],
  ) => ({
    challenge,
    rp: { id: hostname, name: 'Orderpass' },
    user: { id: Buffer.from(user.id).toString('base64url'), name: user.email, displayName: user.email },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: known.map(({ credentialId }) => ({
      type: 'public-key',
      id: credentialId.toString('base64url'),
    })),
    timeout: timeoutMs,
  }),
  /** Options of `navigator.credentials.get` for any passkey of this origin. */
  requestOptions: (challenge: string) => ({
    challenge,
    rpId: hostname,
    userVerification: 'required',
    timeout: timeoutMs,
  }),
});

const parse = <T>(schema: z.ZodType<T>, text: string): T | undefined => {
  try {
    const { data } = schema.safeParse(JSON.parse(text));
    return data;
  } catch {
    return undefined;
  }
};
