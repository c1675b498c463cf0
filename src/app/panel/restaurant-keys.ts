/** The port of a restaurant's API keys. */
import { z } from 'zod';
import { validationFault } from '#src/contract/fault.ts';
import { type Credentials, createKeyViews } from '#src/gateway/index.ts';
import { endOfDay, requireRestaurant } from '#src/ordering/index.ts';
import type { KeyPorts } from '#src/panel/index.ts';
import { parseParameters } from '#src/platform/http/validate.ts';
import { date } from '#src/platform/http/values.ts';
import type { Installation } from '../installation/installation.ts';
import { underLock } from './under-lock.ts';

type KeyDeps = { installation: Installation; credentialsOf: (actor: string) => Credentials };

const yearsMax = 10;
const dayParams = z.object({ expires: date() });

export const createKeyPorts = ({ installation, credentialsOf }: KeyDeps): KeyPorts => {
  const { store, clock } = installation;
  const views = createKeyViews({ db: store.db, clock });
  /** The end of a day of the restaurant. */
  const endOf = async (restuid: string, lastDay: string): Promise<Date> => {
    const { expires: day } = parseParameters(dayParams, { expires: lastDay }, []);
    const end = endOfDay(day, (await requireRestaurant(store.db, restuid)).timeZone);
    const now = clock.now();
    if (end <= now) throw outOfRange('is over');
    if (end.getUTCFullYear() > now.getUTCFullYear() + yearsMax) throw outOfRange('is too far ahead');
    return end;
  };
  return {
    list: views.list,
    find: views.find,
    create: async (actor, restuid, { name, lastDay }) => {
      const end = lastDay === undefined ? undefined : { expires: await endOf(restuid, lastDay) };
      return credentialsOf(actor).createApiKey({ tenant: restuid, name, ...end });
    },
    rotate: async (actor, restuid, keyId, { overlapHours, lastDay, refuseQuarantined }) => {
      await views.require(restuid, keyId);
      const expires = lastDay === undefined ? undefined : await endOf(restuid, lastDay);
      return credentialsOf(actor).rotateApiKey(keyId, overlapHours, { refuseQuarantined, expires });
    },
    revoke: async (actor, restuid, keyId) => {
      await views.require(restuid, keyId);
      await credentialsOf(actor).revokeApiKey(keyId);
    },
    reactivate: async (actor, restuid, keyId, reason, check) => {
      await views.require(restuid, keyId);
      await underLock(store.db, 'key', keyId, async (tx) => {
        const stored = await createKeyViews({ db: tx, clock }).find(restuid, keyId);
        if (stored !== undefined) check(stored);
        await credentialsOf(actor).reactivate('api_key', keyId, reason, tx);
      });
    },
  };
};

const outOfRange = (message: string) => validationFault([{ pointer: 'expires', code: 'RANGE', message }]);
