/** A third of what the others get of a core when all want it: who imports waits a little, nobody else does. */
export const niceness = 5;
