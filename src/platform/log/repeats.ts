/** Separates the first error of a kind from its repetitions, and counts those. */

/** One line about repetitions. */
type Repeated = { severity: number; message: string; fields: Record<string, unknown> };

export type Repeats = {
  /** False for a repetition, which is counted instead. `args`: the arguments of a logger call, fields and message. */
  isNew(args: readonly unknown[], severity: number): boolean;
  /** Returns one entry for each kind that was repeated since the last call. */
  flush(): Repeated[];
};

type Kind = { severity: number; message: string; about: Record<string, unknown>; count: number };

/** Beyond so many kinds the kind is the message alone, of which the program has a few dozen. */
const kindsMax = 500;
const reasonCharactersMax = 200;
const warn = 40;

/** Fields that are part of the kind: errors of two services, sinks or addresses of an upstream are two kinds. */
const namedFields = ['service', 'sink', 'code', 'topic', 'upstream', 'address'] as const;

export const createRepeats = (): Repeats => {
  const kinds = new Map<string, Kind>();
  return {
    isNew: (args, severity) => {
      const [fields, message] = args;
      // Lines without an error and lines of lower levels are never repetitions.
      if (severity < warn || !hasError(fields)) return true;
      const text = typeof message === 'string' ? message : fields.err.message;
      const about = aboutOf(fields);
      const exact = `${severity} ${text} ${JSON.stringify(about)}`;
      const key = kinds.has(exact) || kinds.size < kindsMax ? exact : `${severity} ${text}`;
      const kind = kinds.get(key);
      if (kind === undefined) {
        kinds.set(key, { severity, message: text, about: key === exact ? about : {}, count: 0 });
        return true;
      }
      kind.count += 1;
      return false;
    },
    flush: () => {
      const repeated: Repeated[] = [];
      for (const [key, kind] of kinds) {
        // A minute without repetition ends the outage; the next error is logged at once again.
        if (kind.count === 0) kinds.delete(key);
        else
          repeated.push({
            severity: kind.severity,
            message: `${kind.message} (repeated)`,
            fields: { ...kind.about, count: kind.count },
          });
        kind.count = 0;
      }
      return repeated;
    },
  };
};

const hasError = (fields: unknown): fields is { err: Error } & Record<string, unknown> =>
  typeof fields === 'object' && fields !== null && 'err' in fields && fields.err instanceof Error;

/** The common part of the lines of a kind. Numbers and ids vary, so the reason leaves them out. */
const aboutOf = (fields: { err: Error } & Record<string, unknown>): Record<string, unknown> => {
  const about: Record<string, unknown> = {};
  for (const name of namedFields) if (fields[name] !== undefined) about[name] = fields[name];
  const { err } = fields;
  const code: unknown = Reflect.get(err, 'code');
  const reason = err.message.slice(0, reasonCharactersMax).replace(/[0-9a-f]{8,}|\d+|\b[a-z]{3}_[0-9a-z]{10,}/g, '#');
  return { ...about, reason: typeof code === 'string' ? `${code} ${reason}` : reason };
};
