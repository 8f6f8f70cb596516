// Made from the server's /openapi.json by tools/gen-client-types.py. Do not edit.

export type Error = {
  error: {
    code: "invalid" | "auth" | "denied" | "not_found" | "busy" | "too_large" | "unsupported" | "protocol" | "system" | "internal";
    message: string;
    hint: string | null;
  };
};

export type Result = {
  id: string;
  status: "running" | "success" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled";
  approvals?: Approval[];
  exit_code?: number | null;
  signal?: number | null;
  stdout?: string;
  stderr?: string;
  /** of a command that runs: written so far */
  stdout_bytes?: number;
  /** of a command that runs: written so far */
  stderr_bytes?: number;
  truncated?: {
    stdout: boolean;
    stderr: boolean;
  };
  output_handle?: string | null;
  result?: {
    text: string;
    json: unknown;
  } | null;
  displays?: Display[];
  /** displayed and not listed */
  displays_more?: number;
  error?: {
    name: string;
    message: string;
    traceback: string | null;
    line: number | null;
    column?: number;
    hint: string | null;
    said_by: "program" | "belljar";
  } | null;
  /** what to do about commands that failed */
  hint?: string | null;
  violations?: Violation[];
  /** found and not listed */
  violations_more?: number;
  usage?: {
    wall_ms: number;
    cpu_ms: number;
    memory_peak_bytes: number;
    start_ms: number;
    processes_peak: number;
  };
  masked?: { [name: string]: unknown };
  /** connections to granted hosts; null where none is granted */
  net?: {
    connections?: number;
    sent_bytes?: number;
    received_bytes?: number;
    refused?: ({
      host?: string;
      port?: number;
      why?: string;
      /** what in `net` would allow it */
      grant?: string | null;
    })[];
    refused_more?: number;
  } | null;
  /** what was refused while the program ran: hosts, writes, calls, limits */
  denials?: ({
    /** such as `connect to example.org:443` */
    what: string;
    /** who refused it */
    layer: string;
    /** what would allow it */
    hint: string | null;
    count: number;
  })[];
  /** refused and not listed */
  denials_more?: number;
  /** what was changed in directories granted with `:rw`; not there without one */
  changes?: {
    created: number;
    /** files opened for writing count */
    changed: number;
    removed: number;
    renamed: number;
    /** whether the run can be undone */
    undo: boolean;
  };
  files?: File[];
  files_gone?: string[];
  files_truncated?: boolean;
  session_id?: string | null;
  /** of a cell: whether the variables of its session are still there */
  session_state?: string | null;
  correlation_id?: string | null;
  receipt?: { [name: string]: unknown };
  profile?: string | null;
  isolation?: string;
  layers?: string[];
  collected?: ({
    path: string;
    size: number;
    encoding: string | null;
    content: string | null;
  })[];
  collected_truncated?: boolean;
  /** of a cell that was interrupted, by its time limit or a client: how long it took to end, and how long it might have taken before its kernel is killed (`interrupt_grace_s`) */
  interrupt?: {
    waited_ms: number;
    grace_ms: number;
  };
  deterministic?: {
    seed?: number;
    fingerprint?: string;
    caveats?: string[];
  } | null;
};

/** one form of an object that the program displayed; forms of one object have the same `bundle` */
export type Display = {
  bundle: number;
  mime: string;
  /** text, or JSON, or bytes as base64 if `encoding` says so */
  data: unknown;
  encoding?: string;
  width?: number;
  height?: number;
};

/** a reason why the profile refuses the program */
export type Violation = {
  rule: string;
  name: string | null;
  line: number | null;
  column: number | null;
  message: string;
  hint: string | null;
};

/** the data of each kind of event in the streams of runs */
export type Events = {
  start?: {
    id: string;
    correlation_id?: string;
  };
  stdout?: Text;
  stderr?: Text;
  display?: {
    displays: Display[];
  };
  progress?: {
    done: number;
    total: number | null;
    text: string;
  };
  approval?: Approval;
  /** events that are no longer kept */
  gap?: {
    missed: number;
  };
  /** output that is not kept */
  dropped?: {
    stream: "stdout" | "stderr";
    bytes: number;
  };
  /** the end of what there is so far, for `wait=false` */
  running?: {
    id: string;
  };
  result?: Result;
  error?: Error;
};

/** a part of an output; `offset` is where it begins, in bytes */
export type Text = {
  text: string;
  offset?: number;
};

export type Batch = {
  runs: ({
    index: number;
    id: string | null;
    verdict: "accepted" | "wrong_answer" | "output_exceeded" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled" | "failed";
    result?: Result;
    error?: {
      code: string;
      message: string;
      hint: string | null;
    };
  })[];
  summary: {
    total: number;
    verdicts: { [name: string]: number };
    wall_ms: number;
  };
};

export type Session = {
  session_id: string;
  owner?: string;
  /** the session of which it is a fork */
  parent?: string | null;
  name: string;
  profile?: string;
  state: "starting" | "idle" | "busy" | "paused";
  cells?: number;
  waiting?: number;
  /** commands that run beside its kernels */
  commands?: number;
  age_s?: number;
  idle_s?: number;
  idle_limit_s?: number | null;
  lifetime_s?: number | null;
  limits?: {
    /** wall-clock limit of a run or cell */
    timeout_s?: number;
    /** CPU time that all processes of a run or cell may use together; 0: no limit */
    cpu_time_s?: number;
    /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
    output_bytes?: number;
    /** memory of all processes of a program and of the files it writes */
    memory_mb?: number;
    /** share of the processor, in cores (0.5 is half of one); 0: no limit */
    cpus?: number;
    /** processes and threads at once */
    pids?: number;
    /** space for files written outside allowed directories; it also counts as memory */
    disk_mb?: number;
  };
  /** where code starts */
  workdir?: string;
  /** directories it has: DIR, DIR:rw, DIR:cow */
  allow?: string[];
  /** hosts that it may reach */
  net?: string[];
  /** when it is opened: the sessions that ended to make room for it (`session_evict`) */
  evicted?: string[] | null;
};

export type Copied = {
  sessions?: Session[];
  lost?: unknown[];
  /** of a fork with directories: what the copies share, and what each has of its own */
  shared?: string | null;
  /** of a fork: the sessions that ended to make room for the copies (`session_evict`) */
  evicted?: string[] | null;
  session?: Session;
  held_ms?: number;
  total_ms?: number;
};

export type Sessions = {
  sessions: Session[];
};

export type Files = {
  files: {
    path: string;
    kind: string;
    size: number;
    mode?: string;
    modified?: number;
  }[];
  has_more: boolean;
  is_partial?: boolean;
};

export type SkillHead = {
  name: string;
  module: string;
  kind: "public" | "user";
  is_folder: boolean;
  description: string | null;
  version: number;
  updated_at: string | null;
  bytes: number;
};

export type Skills = {
  skills: SkillHead[];
};

export type Skill = SkillHead & {
  files: {
    path?: string;
    bytes?: number;
    is_executable?: boolean;
  }[];
  versions: Versions;
  code: string | null;
  instructions: string | null;
};

export type Versions = {
  version?: number;
  timestamp?: string;
  bytes?: number;
}[];

export type SkillSaved = {
  name: string;
  module: string;
  version: number;
};

export type SkillVersion = {
  name: string;
  version: number;
};

export type WorkHead = {
  name: string;
  description: string | null;
  created_at: string;
  updated_at: string;
  version: number;
  bytes?: number;
};

export type Works = {
  states: WorkHead[];
};

export type Work = WorkHead & {
  state: { [name: string]: unknown };
  history: Versions;
};

export type WorkMade = {
  name: string;
  is_new: boolean;
};

export type WorkSaved = {
  name: string;
  version: number;
};

export type File = {
  path: string;
  size: number;
};

export type Output = {
  text?: string;
  size?: number;
  lines?: number;
  dropped?: number;
  /** where the next part begins */
  next?: {
    offset?: number;
    line?: number;
  } | null;
  matches?: {
    line: number;
    offset: number;
    text: string;
    start: number;
    end: number;
    is_piece: boolean;
  }[];
};

export type Approved = {
  approved: boolean;
};

/** a call that waits for a yes or a no */
export type Approval = {
  approval_id: string;
  run_id: string;
  session_id?: string;
  call: string;
  arguments?: unknown;
  sha256: string;
  /** bytes of the arguments that are not shown */
  hidden_bytes: number;
  has_invisible: boolean;
  expires_in_s: number;
};

export type Approvals = {
  approvals: Approval[];
};

export type RunHead = {
  id: string;
  state: "waiting" | "running" | "success" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled" | "failed";
  language: string;
  /** of a cell, or of a command in a session */
  session_id: string | null;
  detached: boolean;
  age_s: number;
  exit_code: number | null;
  owner: string;
  /** the beginning of its first line */
  code: string;
};

export type Runs = {
  runs: RunHead[];
};

export type Commands = {
  commands: RunHead[];
};

export type Cancelled = {
  cancelled: boolean;
};

export type Interrupted = {
  interrupted: boolean;
};

export type Context = {
  context_id: string;
  language: string;
  /** where it started, as it was asked for */
  workdir: string | null;
};

export type Contexts = {
  contexts: Context[];
};

export type Snapshots = {
  snapshots: {
    name: string;
    /** of the session it was made of */
    session_id: string;
    profile: string;
    age_s: number;
    /** of memory that it takes */
    bytes: number;
    /** false: it was lost with the interpreter that it is of */
    usable: boolean;
  }[];
};

export type Checkpoints = {
  checkpoints: string[];
};

export type Changes = {
  changes: ({
    path: string;
    change: "created" | "changed" | "deleted";
    kind: string;
    old_kind: string;
    size: number;
    old_size: number;
    mode: string | null;
    old_mode: string | null;
    added: number | null;
    removed: number | null;
    is_binary: boolean;
    has_invisible: boolean;
    hidden_bytes: number;
    not_shown: string | null;
    sha256: string | null;
    obstacle: string | null;
    diff?: string | null;
  })[];
  has_more: boolean;
  version: string;
  hidden_bytes: number;
};

export type Settled = {
  version: string;
  done: string[];
  skipped: {
    path: string;
    reason: string;
    message: string;
  }[];
};

export type Undo = {
  run: string;
  dry_run: boolean;
  /** the id by which this undo can be undone */
  undo: string | null;
  done: ({
    action: "removed" | "restored" | "reverted" | "renamed";
    path: string;
    to?: string;
  })[];
  /** what was left alone */
  conflicts: ({
    action: "removed" | "restored" | "reverted" | "renamed";
    path: string;
    to?: string;
    reason: string;
  })[];
  /** all of them; the lists end at 10000 together */
  n_done: number;
  n_conflicts: number;
  already_undone: boolean;
};

export type Undoable = {
  runs: ({
    run: string;
    session?: string | null;
    time: string;
    /** of an undo: the run that it took back */
    undoes?: string | null;
    undone: boolean;
    is_running: boolean;
    directories: string[];
    created?: number | null;
    changed?: number | null;
    removed?: number | null;
    renamed?: number | null;
    /** the record was removed to make room: the run cannot be undone any more */
    removed_for_space?: boolean;
  })[];
};

export type Caller = {
  name: string;
  running: number;
  waiting: number;
  done: number;
  refused: number;
};

export type Stats = {
  you: Caller;
  server?: {
    runs: { [name: string]: number };
    queue: {
      running: number;
      waiting: number;
      max_running: number;
      max_waiting: number;
    };
    pool: {
      idle: number;
      wanted: number;
      made: number;
    };
    sessions: number;
    connections: number;
    cpu_s: number;
    resident_bytes: number;
    tokens: Caller[];
  };
};

export type HostLanguages = {
  languages: {
    name: string;
    title: string;
    aliases: string[];
    suffixes: string[];
    /** the host has what it needs */
    available: boolean;
    /** packages of Debian */
    needs: string[];
  }[];
  default: string;
};

export type OpenApi = {
  openapi: string;
  info: { [name: string]: unknown };
  paths: { [name: string]: unknown };
  components: { [name: string]: unknown };
};

/** Every route: parts of its path, its query, its body as JSON or bytes, whether it takes an idempotency key, its answer. */
export interface Routes {
  /** run a command in the sandbox of a session, beside its cells */
  "POST /v1/sessions/{session}/commands": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** a line for Bash; or `args` */
      command?: string;
      /** the program and its arguments, started without a shell; or `command` */
      args?: string[];
      /** variables to set besides the session's */
      env?: { [name: string]: string };
      /** where it starts; without it, where the session's code does */
      workdir?: string;
      /** its standard input; without it, /dev/null */
      stdin?: string;
      /** its standard input stays open for what is sent later */
      stdin_open?: boolean;
      /** answer at once with the id; the command goes on without the client */
      background?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** the commands of a session, the last first */
  "GET /v1/sessions/{session}/commands": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Commands;
  };
  /** the answer of a command, or its output so far; as events, what follows, too */
  "GET /v1/sessions/{session}/commands/{command}": {
    parts: {
      session: string;
      command: string;
    };
    query: {
      /** of events: bytes that you have */
      stdout?: number;
      /** of events: bytes that you have */
      stderr?: number;
      /** false: events of the output so far; the last is `running` */
      wait?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Result;
  };
  /** kill a command and what it started */
  "DELETE /v1/sessions/{session}/commands/{command}": {
    parts: {
      session: string;
      command: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Cancelled;
  };
  /** write to the standard input of a command, or close it */
  "POST /v1/sessions/{session}/commands/{command}/stdin": {
    parts: {
      session: string;
      command: string;
    };
    query: { [name: string]: never };
    json: {
      /** what it reads next */
      text?: string;
      /** the same as bytes, encoded */
      base64?: string;
      /** its standard input ends after that */
      close?: boolean;
    };
    bytes: false;
    key: false;
    answer: never;
  };
  /** send a signal to a command and what it started */
  "POST /v1/sessions/{session}/commands/{command}/signal": {
    parts: {
      session: string;
      command: string;
    };
    query: { [name: string]: never };
    json: {
      /** for the command and what it started */
      signal: "TERM" | "KILL" | "INT" | "HUP" | "QUIT" | "USR1" | "USR2" | "STOP" | "CONT" | "WINCH";
    };
    bytes: false;
    key: false;
    answer: never;
  };
  /** run a program in a fresh sandbox and answer with its result */
  "POST /v1/run": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** the program */
      code: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
      /** name of the program, in tracebacks and as its own name */
      filename?: string;
      /** its arguments */
      args?: string[];
      /** the same program and input give the same output */
      seed?: number;
      /** answer at once with the id; the run goes on without the client */
      detach?: boolean;
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** check a program and run nothing: refused code, syntax errors, missing modules */
  "POST /v1/check": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** the program */
      code: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
      /** name of the program, in tracebacks and as its own name */
      filename?: string;
      /** its arguments */
      args?: string[];
      /** the same program and input give the same output */
      seed?: number;
      /** answer at once with the id; the run goes on without the client */
      detach?: boolean;
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** the caller's runs, the last first: what waits, runs, or is kept */
  "GET /v1/runs": {
    parts: { [name: string]: never };
    query: {
      /** live: only those that wait or run */
      state?: "live" | "any";
      /** only cells of this session (name or id) */
      session?: string;
      /** at most so many (default 100) */
      limit?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Runs;
  };
  /** the answer of a run, kept for a while; `status` is `running` until then */
  "GET /v1/runs/{run}": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Result;
  };
  /** the events of a run after the one in `Last-Event-ID` */
  "GET /v1/runs/{run}/events": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the output of a run so far and what follows, as events, then its result */
  "GET /v1/runs/{run}/follow": {
    parts: {
      run: string;
    };
    query: {
      /** bytes of it that you have */
      stdout?: number;
      /** bytes of it that you have */
      stderr?: number;
      /** false: only the output so far; the last event is `running` */
      wait?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** stop a run; its result, with the output so far, goes to the waiting client */
  "POST /v1/runs/{run}/cancel": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Cancelled;
  };
  /** calls of your programs that wait for approval */
  "GET /v1/approvals": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Approvals;
  };
  /** approve or refuse a call that a run waits for */
  "POST /v1/runs/{run}/approve": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: {
      /** true: the call continues; false: it is refused */
      approve: boolean;
      /** id of the question */
      approval_id: string;
      /** `hidden_bytes` of the question: approve it although so much of it was not shown */
      accept_hidden?: number;
      /** hash from the question: only this call, with these arguments */
      sha256?: string;
    };
    bytes: false;
    key: false;
    answer: Approved;
  };
  /** approve or refuse a call that a session's cell waits for */
  "POST /v1/sessions/{session}/approve": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** true: the call continues; false: it is refused */
      approve: boolean;
      /** id of the question */
      approval_id: string;
      /** `hidden_bytes` of the question: approve it although so much of it was not shown */
      accept_hidden?: number;
      /** hash from the question: only this call, with these arguments */
      sha256?: string;
    };
    bytes: false;
    key: false;
    answer: Approved;
  };
  /** run up to 1000 programs, each in a fresh sandbox, and answer as they end */
  "POST /v1/batch": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** the programs to run; a field missing in one is taken from the fields next to this list */
      runs: ({
        /** comes back with its answer */
        id?: string;
        /** the program */
        code?: string;
        /** default: python */
        language?: "python" | "bash" | "javascript" | "typescript";
        /** its standard input */
        stdin?: string;
        /** echo the last expression, as the Python prompt does */
        auto_print?: boolean;
        /** comes back with the answer; one is made up without it */
        correlation_id?: string;
        /** also return a signed receipt */
        receipt?: boolean;
        /** name of its profile */
        profile?: string;
        /** variables to set inside */
        env?: { [name: string]: string };
        /** name of the environment with its packages */
        environment?: string;
        /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
        allow?: string[];
        /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
        workdir?: string;
        /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
        net?: string[];
        /** wall-clock limit of a run or cell */
        timeout_s?: number;
        /** CPU time that all processes of a run or cell may use together; 0: no limit */
        cpu_time_s?: number;
        /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
        output_bytes?: number;
        /** memory of all processes of a program and of the files it writes */
        memory_mb?: number;
        /** share of the processor, in cores (0.5 is half of one); 0: no limit */
        cpus?: number;
        /** processes and threads at once */
        pids?: number;
        /** space for files written outside allowed directories; it also counts as memory */
        disk_mb?: number;
        /** the same program and input give the same output */
        seed?: number;
        /** name of the program, in tracebacks and as its own name */
        filename?: string;
        /** its arguments */
        args?: string[];
        /** files to put into /workspace before it starts */
        files?: ({
          /** path below /workspace */
          path: string;
          /** what is in it */
          content: string;
          /** encoding of `content` (default utf-8) */
          encoding?: "utf-8" | "base64";
          /** whether it is a program */
          executable?: boolean;
        })[];
        /** patterns of files to bring back, such as *.csv or ** /*.png */
        collect?: string[];
        /** its expected standard output */
        expected_output?: string;
        /** lines: white space at the end of lines and of the whole does not count; exact; tokens: white space only separates */
        compare?: "lines" | "exact" | "tokens";
      })[];
      /** run at most so many of them at a time */
      at_once?: number;
      /** the program */
      code?: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
      /** the same program and input give the same output */
      seed?: number;
      /** name of the program, in tracebacks and as its own name */
      filename?: string;
      /** its arguments */
      args?: string[];
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
      /** its expected standard output */
      expected_output?: string;
      /** lines: white space at the end of lines and of the whole does not count; exact; tokens: white space only separates */
      compare?: "lines" | "exact" | "tokens";
    };
    bytes: false;
    key: true;
    answer: Batch;
  };
  /** open a session: a sandbox that stays, with its variables and files */
  "POST /v1/sessions": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** an optional name besides the id; up to 64 letters, digits, `.`, `_` and `-` */
      name?: string;
      /** seconds without a cell after which it ends */
      idle_s?: number;
      /** seconds until it ends after it was opened */
      lifetime_s?: number;
      /** a snapshot with whose variables and files it begins; profile, limits and grants are the snapshot's and cannot be given */
      snapshot?: string;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
    };
    bytes: false;
    key: true;
    answer: Session;
  };
  /** the caller's sessions */
  "GET /v1/sessions": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Sessions;
  };
  /** one session, by its name or id */
  "GET /v1/sessions/{session}": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Session;
  };
  /** end a session; its variables and files are gone */
  "DELETE /v1/sessions/{session}": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** run a cell; cells of one session run one after the other */
  "POST /v1/sessions/{session}/execute": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** the program */
      code: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** the id of the context to run it in, which decides on the language */
      context?: string;
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** answer at once with the id; the run goes on without the client */
      detach?: boolean;
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** stop the cell that runs, as Ctrl-C does; variables stay */
  "POST /v1/sessions/{session}/interrupt": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Interrupted;
  };
  /** stop everything in the sandbox; memory and files stay, no CPU time is used */
  "POST /v1/sessions/{session}/pause": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Session;
  };
  /** let a paused session go on */
  "POST /v1/sessions/{session}/resume": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Session;
  };
  /** a fresh kernel of that language; variables are lost, files stay */
  "POST /v1/sessions/{session}/restart": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
    };
    bytes: false;
    key: false;
    answer: Session;
  };
  /** a further kernel in the same sandbox, with variables and a directory of its own */
  "POST /v1/sessions/{session}/contexts": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** where it starts, in /workspace or in a granted directory; without it, where the session's code does */
      workdir?: string;
    };
    bytes: false;
    key: false;
    answer: Context;
  };
  /** the contexts that were opened */
  "GET /v1/sessions/{session}/contexts": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Contexts;
  };
  /** a fresh kernel for the context; its variables are lost, files stay */
  "POST /v1/sessions/{session}/contexts/{context}/restart": {
    parts: {
      session: string;
      context: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Context;
  };
  /** end a context; its variables are gone */
  "DELETE /v1/sessions/{session}/contexts/{context}": {
    parts: {
      session: string;
      context: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** new sessions with the same variables and files, each in its own sandbox */
  "POST /v1/sessions/{session}/fork": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** number of copies (default 1) */
      n?: number;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** keep the present variables and files under a name */
  "POST /v1/sessions/{session}/checkpoint": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** of the checkpoint; up to 64 letters, digits, `.`, `_` and `-` */
      name: string;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** go back to a checkpoint; what came after it is lost */
  "POST /v1/sessions/{session}/restore": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** of the checkpoint; up to 64 letters, digits, `.`, `_` and `-` */
      name: string;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** keep the present variables and files for sessions to come, also when this one has ended */
  "POST /v1/sessions/{session}/snapshot": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** of the snapshot; up to 64 letters, digits, `.`, `_` and `-` */
      name: string;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** the caller's snapshots, newest first */
  "GET /v1/snapshots": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Snapshots;
  };
  /** forget a snapshot; sessions that were opened from it go on */
  "DELETE /v1/snapshots/{name}": {
    parts: {
      name: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** names of the checkpoints, newest first */
  "GET /v1/sessions/{session}/checkpoints": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Checkpoints;
  };
  /** forget a checkpoint */
  "DELETE /v1/sessions/{session}/checkpoints/{name}": {
    parts: {
      session: string;
      name: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** changes in copy-on-write directories that are not on the disk yet */
  "GET /v1/sessions/{session}/changes": {
    parts: {
      session: string;
    };
    query: {
      /** only changes at or below this path */
      path?: string;
      /** with the lines that changed, as unified diffs */
      diff?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Changes;
  };
  /** write the changes to the disk, each file as a whole */
  "POST /v1/sessions/{session}/apply": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** only changes at or below this path, as in the list of changes (default: all) */
      paths?: string[];
      /** version of the list you looked at; refused if the changes differ now */
      version?: string;
      /** also overwrite files that changed on the disk */
      force?: boolean;
      /** `hidden_bytes` of these changes: apply them although so much of them was not shown */
      accept_hidden?: number;
    };
    bytes: false;
    key: false;
    answer: Settled;
  };
  /** show the session the directories as they are on the disk again */
  "POST /v1/sessions/{session}/discard": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** only changes at or below this path, as in the list of changes (default: all) */
      paths?: string[];
      /** version of the list you looked at; refused if the changes differ now */
      version?: string;
    };
    bytes: false;
    key: false;
    answer: Settled;
  };
  /** the entries of a directory of /workspace, by path */
  "GET /v1/sessions/{session}/files": {
    parts: {
      session: string;
    };
    query: {
      /** the directory (default /workspace); one in a granted directory by its absolute path */
      path?: string;
      /** 1 (the default): its own entries; 0: all the way down */
      depth?: number;
      /** only paths that sort after this one: the last path of the previous page */
      after?: string;
      /** entries per page (default 1000); a page also ends at 512 KiB of paths */
      limit?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Files;
  };
  /** the bytes of a file, or with `Range` a part of them (206) */
  "GET /v1/sessions/{session}/files/{path}": {
    parts: {
      session: string;
      path: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** write a file, whole or not at all; missing parent directories are created */
  "PUT /v1/sessions/{session}/files/{path}": {
    parts: {
      session: string;
      path: string;
    };
    query: {
      /** mode 0755 instead of 0644 */
      executable?: boolean;
      /** refuse to replace a file */
      new?: boolean;
    };
    json: never;
    bytes: true;
    key: false;
    answer: File;
  };
  /** delete a file, a link or a directory */
  "DELETE /v1/sessions/{session}/files/{path}": {
    parts: {
      session: string;
      path: string;
    };
    query: {
      /** a directory with all that is in it */
      recursive?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the whole output of a run, by bytes, by lines, or the lines that match */
  "GET /v1/runs/{run}/output": {
    parts: {
      run: string;
    };
    query: {
      /** stdout (default) or stderr */
      stream?: "stdout" | "stderr";
      /** the first byte, or where the previous answer ended */
      offset?: number;
      /** the first line, from 1; the answer then has whole lines */
      line?: number;
      /** at most so many bytes, lines or matches */
      limit?: number;
      /** a regular expression (RE2): only lines that match */
      search?: string;
      /** letters match whatever their case */
      ignore_case?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Output;
  };
  /** the caller's skills and the public ones */
  "GET /v1/skills": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Skills;
  };
  /** one skill, with its files and versions */
  "GET /v1/skills/{skill}": {
    parts: {
      skill: string;
    };
    query: {
      /** an earlier one; without it, or 0, the last */
      version?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Skill;
  };
  /** save a skill, or a new version of it: a ZIP file of its folder, or one module of Python */
  "PUT /v1/skills/{skill}": {
    parts: {
      skill: string;
    };
    query: {
      /** name of the profile its code is checked against */
      profile?: string;
      /** of a module; a folder has its own */
      description?: string;
    };
    json: never;
    bytes: true;
    key: false;
    answer: SkillSaved;
  };
  /** delete a skill with all its versions */
  "DELETE /v1/skills/{skill}": {
    parts: {
      skill: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** one file of a skill; text is masked */
  "GET /v1/skills/{skill}/files/{path}": {
    parts: {
      skill: string;
      path: string;
    };
    query: {
      /** an earlier one; without it, or 0, the last */
      version?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** remove the last version; the previous one becomes current */
  "POST /v1/skills/{skill}/undo": {
    parts: {
      skill: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: SkillVersion;
  };
  /** runs whose changes in directories granted with `:rw` can be undone, newest first */
  "GET /v1/undo": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Undoable;
  };
  /** what an undo of the run would do */
  "GET /v1/runs/{run}/changes": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Undo;
  };
  /** undo what the run changed in directories granted with `:rw` */
  "POST /v1/runs/{run}/undo": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: {
      /** only report what would be done */
      dry_run?: boolean;
    };
    bytes: false;
    key: false;
    answer: Undo;
  };
  /** the caller's refactoring sessions, the last changed first */
  "GET /v1/states": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Works;
  };
  /** begin a refactoring session, unless there is one of that name */
  "POST /v1/states": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** up to 64 letters, digits, `_`, `-` and `.` */
      name: string;
      /** what it is about */
      description?: string;
    };
    bytes: false;
    key: false;
    answer: WorkMade;
  };
  /** the saved state of a refactoring session, and its history */
  "GET /v1/states/{work}": {
    parts: {
      work: string;
    };
    query: {
      /** an earlier one; without it, or 0, the last */
      version?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Work;
  };
  /** delete a refactoring session with its history */
  "DELETE /v1/states/{work}": {
    parts: {
      work: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** save the state of a refactoring session; earlier ones stay as its history */
  "POST /v1/states/{work}/versions": {
    parts: {
      work: string;
    };
    query: { [name: string]: never };
    json: {
      /** all that the next step needs, up to 1 MiB */
      state: { [name: string]: unknown };
      /** the version it was made from: 409 if there is a newer one */
      version?: number;
    };
    bytes: false;
    key: false;
    answer: WorkSaved;
  };
  /** metrics of the server in Prometheus format; for operators */
  "GET /metrics": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the caller's running and waiting programs; for operators also metrics of the whole server */
  "GET /v1/stats": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Stats;
  };
  /** languages of programs, and which of them this host can run */
  "GET /v1/languages": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: HostLanguages;
  };
  /** this API, as OpenAPI 3.1 */
  "GET /openapi.json": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: OpenApi;
  };
}
