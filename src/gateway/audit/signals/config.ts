/** Settings of the Shared Signals transmitter. */
import { z } from 'zod';
import { onOff } from '#src/platform/settings.ts';

export const signalsSettings = z.strictObject({
  signals: onOff('off').meta({
    description:
      '`on` serves a Shared Signals transmitter (OpenID SSF 1.0, CAEP 1.0): clients get changes of their credentials as signed events; set it for gateways, workers and commands alike',
    env: 'ORDERPASS_SIGNALS',
  }),
});

export type SignalsSettings = z.infer<typeof signalsSettings>;

/** Scopes of the management of streams, as the CAEP interoperability profile names them (section 2.7.2). */
export const manageScope = 'ssf.manage';
export const readScope = 'ssf.read';

/** The scopes that exist beside those of the route table. */
export const signalScopes = ({ signals }: SignalsSettings): readonly string[] =>
  signals === 'on' ? [manageScope, readScope] : [];
