/** How many each name has. A name that has none takes no memory. */

export type Tally = {
  of(name: string): number;
  add(name: string): void;
  /** The name must have one. */
  drop(name: string): void;
};

export const createTally = (): Tally => {
  const counts = new Map<string, number>();
  const of = (name: string): number => counts.get(name) ?? 0;
  return {
    of,
    add: (name) => void counts.set(name, of(name) + 1),
    drop: (name) => {
      const left = of(name) - 1;
      if (left > 0) counts.set(name, left);
      else counts.delete(name);
    },
  };
};
