/** One stack of closers for everything that a program opens: what was opened last is closed first. */

type Closer = () => void | Promise<void>;

export type Closers = {
  add(closer: Closer): void;
  /** Closes everything, once. A closer that fails does not keep the others from running. Never rejects. */
  close(): Promise<void>;
};

export const createClosers = (): Closers => {
  const stack: Closer[] = [];
  let closing: Promise<void> | undefined;
  const closeAll = async (): Promise<void> => {
    for (let closer = stack.pop(); closer !== undefined; closer = stack.pop()) {
      try {
        await closer();
      } catch {
        // The program ends; the remaining closers must still run.
      }
    }
  };
  return {
    add: (closer) => void stack.push(closer),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
};
