/** The function around all modules, where they were packed into one script (make web). */
declare const packed: (() => void) | undefined;
