/* verbs.c: the verbs and their option tables, used for parsing and for help. */
#include "cli.h"

#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(cli_args, name)
#define GROUP(title, table) \
    { title, table, CLI_COUNT(table) }

/* The words of a choice are in the order of the enumeration that they name. */
#define FORMATS "auto|csv|libsvm|npy|idx|arff"
_Static_assert(LIMN_FORMAT_AUTO == 0 && LIMN_FORMAT_CSV == 1 && LIMN_FORMAT_LIBSVM == 2 &&
                   LIMN_FORMAT_NPY == 3 && LIMN_FORMAT_IDX == 4 && LIMN_FORMAT_ARFF == 5,
               "format");
_Static_assert(LIMN_MISSING_ERROR == 0 && LIMN_MISSING_MEDIAN == 1, "missing");
_Static_assert(LIMN_UNKNOWN_ERROR == 0 && LIMN_UNKNOWN_ZERO == 1, "unknown category");
_Static_assert(LIMN_SUBSAMPLE_EQUAL == 0 && LIMN_SUBSAMPLE_POWER == 1, "subsample rule");
_Static_assert(LIMN_HEADER_AUTO == 0 && LIMN_HEADER_YES == 1 && LIMN_HEADER_NO == 2, "header");
_Static_assert(LIMN_CLASSIFY == 0 && LIMN_REGRESS == 1 && LIMN_SEARCH == 2 && LIMN_OUTLIER == 3 &&
                   LIMN_DENSITY == 4,
               "task");
_Static_assert(LIMN_SCALE_AUTO == 0 && LIMN_SCALE_NONE == 1 && LIMN_SCALE_MINMAX == 2 &&
                   LIMN_SCALE_ZSCORE == 3 && LIMN_SCALE_RANK == 4 && LIMN_SCALE_GAUSS == 5 &&
                   LIMN_SCALE_LEARNED == 6, /* ranges is not a choice */
               "scale");
_Static_assert(CLI_AS_TEXT == 0 && CLI_AS_MAN == 1 && CLI_AS_MARKDOWN == 2 && CLI_AS_BASH == 3 &&
                   CLI_AS_ZSH == 4,
               "help as");

/* ---- options ---- */

static const cli_option common_options[] = {
    {"quiet", 'q', NULL, "no progress line, no warnings, no summary", CLI_FLAG, FIELD(quiet), 0, 0},
    {"seed", 0, "N", "random seed (default 1)", CLI_WHOLE, FIELD(seed), 0, 9007199254740992},
    {"threads", 0, "N",
     "number of threads, 0 for all cores (default: 0 for train and accelerate, 1 otherwise)",
     CLI_WHOLE, FIELD(threads), 0, 1024},
    {"help", 'h', NULL, "print this help", CLI_FLAG, FIELD(help), 0, 0},
};

static const cli_option brief_options[] = {
    {"quiet", 'q', NULL, "no warnings", CLI_FLAG, FIELD(quiet), 0, 0},
    {"help", 'h', NULL, "print this help", CLI_FLAG, FIELD(help), 0, 0},
};

static const cli_option data_options[] = {
    {"format", 0, FORMATS, "format of DATA (default auto: detected from the content)", CLI_CHOICE,
     FIELD(format), 0, 0},
    {"header", 0, "auto|yes|no", "whether the first line of a CSV file is a header (default auto)",
     CLI_CHOICE, FIELD(header), 0, 0},
    {"delimiter", 0, "C", "CSV separator, such as ';' or tab (default: detected from the content)",
     CLI_DELIMITER, FIELD(delimiter), 0, 0},
    {"label", 0, "COLUMN",
     "label column: a name, a number counted from 1, first or last (default: the column named "
     "label, class, target or y, else the last one if the task needs labels)",
     CLI_TEXT, FIELD(label), 0, 0},
    {"no-label", 0, NULL, "DATA has no label column", CLI_FLAG, FIELD(no_label), 0, 0},
    {"label-file", 0, "FILE",
     "file with the labels of an NPY or IDX file (default: x-labels.npy next to x.npy, "
     "train-labels-idx1-ubyte next to train-images-idx3-ubyte)",
     CLI_TEXT, FIELD(label_file), 0, 0},
};

static const cli_option table_options[] = {
    {"missing", 0, "error|median",
     "cells that are empty, NA, NaN or ?: refuse them, or replace them with the column's median "
     "(in a text column, the most frequent category), also when predicting (default error)",
     CLI_CHOICE, FIELD(missing), 0, 0},
    {"categorical", 0, "COLUMNS",
     "columns whose numbers are categories: names or numbers counted from 1, separated by commas; "
     "text columns are always categories",
     CLI_TEXT, FIELD(categorical), 0, 0},
};

static const cli_option weight_options[] = {
    {"weights", 0, "COLUMN", "column of sample weights: a name or a number counted from 1",
     CLI_TEXT, FIELD(weights), 0, 0},
};

static const cli_option match_options[] = {
    {"unknown-category", 0, "error|zero",
     "a category that the model has not seen: refuse it, or treat it as none of the known ones "
     "(default error)",
     CLI_CHOICE, FIELD(unknown), 0, 0},
};

static const cli_option ranges_options[] = {
    {"ranges", 0, "X[,Y]",
     "the scaling of the data before a LIBSVM text model: the range file of svm-scale -s, or the "
     "scale files of features and target of e1071's write.svm; rows are then those before scaling, "
     "and so are the numbers that are predicted",
     CLI_TEXT, FIELD(ranges), 0, 0},
};

static const cli_option train_options[] = {
    {"method", 'm', "METHOD", "method to train; limn methods lists them", CLI_TEXT, FIELD(method),
     0, 0},
    {"param", 'p', "KEY=VALUE",
     "set a parameter of the method (repeatable); limn methods METHOD lists them", CLI_PARAM, 0, 0,
     0},
    {"teacher", 0, "TEACHER",
     "for methods drawn from another model (limn methods marks them with teacher): a model FILE, "
     "or a METHOD to train first, with parameters -p teacher.KEY=VALUE (default: the method's own "
     "choice)",
     CLI_TEXT, FIELD(teacher), 0, 0},
    {"task", 0, "classify|regress|search|outlier|density",
     "what the model is for (default classify)", CLI_CHOICE, FIELD(task), 0, 0},
    {"scale", 0, "auto|none|minmax|zscore|rank|gauss|learned",
     "scaling of the features, stored in the model (default auto: fixed for some methods, chosen "
     "by "
     "evidence for those that measure distances); learned: a linear map, learned from the labels, "
     "if the evidence is for one",
     CLI_CHOICE, FIELD(scale), 0, 0},
    {"subsample", 0, "F", "train on this fraction of the rows", CLI_REAL, FIELD(subsample), 0, 1},
    {"subsample-rule", 0, "equal|power",
     "draw the same fraction of each class, or keep the smallest class whole and take less of a "
     "class the larger it is (default equal)",
     CLI_CHOICE, FIELD(subsample_rule), 0, 0},
    {"output", 'o', "MODEL", "file to write", CLI_TEXT, FIELD(output), 0, 0},
    {"json", 0, NULL, "print the summary as one JSON object", CLI_FLAG, FIELD(json), 0, 0},
};

/* As in svm-train, the values of -s, -t and -b are numbers. */
static const cli_option svm_options[] = {
    {"svm-type", 's', "0|1|2|3|4",
     "c_svc, nu_svc, one_class, epsilon_svr or nu_svr; same as -p type=...", CLI_ALIAS, 0, 0, 0},
    {"svm-kernel", 't', "0|1|2|3", "linear, poly, rbf or sigmoid; same as -p kernel=...", CLI_ALIAS,
     0, 0, 0},
    {"svm-cost", 'c', "C", "same as -p C=...", CLI_ALIAS, 0, 0, 0},
    {"svm-gamma", 'g', "GAMMA", "same as -p gamma=...", CLI_ALIAS, 0, 0, 0},
    {"svm-degree", 'd', "DEGREE", "same as -p degree=...", CLI_ALIAS, 0, 0, 0},
    {"svm-coef0", 'r', "COEF0", "same as -p coef0=...", CLI_ALIAS, 0, 0, 0},
    {"svm-weight", 'w', "LABEL=WEIGHT",
     "-w1 2: errors on class 1 cost twice as much; same as -p class_weight=1:2", CLI_ALIAS, 0, 0,
     0},
    {"svm-probability", 'b', "0|1", "same as -p probability=...", CLI_ALIAS, 0, 0, 0},
};

static const cli_option predict_options[] = {
    {"proba", 0, NULL, "print CSV with the label and the probability of each class", CLI_FLAG,
     FIELD(proba), 0, 0},
    {"scores", 0, NULL,
     "print CSV with the label and the scores (f_a_b above 0 favours a over b, d_a is the distance "
     "from a)",
     CLI_FLAG, FIELD(scores), 0, 0},
    {"vote", 0, NULL,
     "answer the class that wins the most pairs (LIBSVM's rule), not the most probable one; for "
     "models with decision values of pairs",
     CLI_FLAG, FIELD(vote), 0, 0},
    {"output", 'o', "OUT", "file to write (default: standard output)", CLI_TEXT, FIELD(output), 0,
     0},
};

static const cli_option eval_options[] = {
    {"neighbors", 'k', "K", "of a search model: recall among the K nearest (default 10)", CLI_WHOLE,
     FIELD(neighbors), 1, 1e6},
    {"no-speed", 0, NULL, "do not measure latency and throughput", CLI_FLAG, FIELD(no_speed), 0, 0},
    {"json", 0, NULL, "print one JSON object, rates as fractions", CLI_FLAG, FIELD(json), 0, 0},
};

static const cli_option search_options[] = {
    {"neighbors", 'k', "K", "number of neighbours per query", CLI_WHOLE, FIELD(neighbors), 1, 1e9},
    {"output", 'o', "OUT", "file to write (default: standard output)", CLI_TEXT, FIELD(output), 0,
     0},
};

static const cli_option learn_options[] = {
    {"output", 'o', "MODEL2", "file to write (default: replace MODEL)", CLI_TEXT, FIELD(output), 0,
     0},
    {"checkpoint-every", 0, "N[s]",
     "write the model after every N rows of DATA or every N seconds, such as 1000 or 30s, and when "
     "the command is interrupted",
     CLI_EVERY, FIELD(checkpoint_every), 0, 0},
    {"resume", 0, NULL,
     "continue where the last command stopped: skip the rows of DATA that the model (MODEL2, if it "
     "exists) has already read",
     CLI_FLAG, FIELD(resume), 0, 0},
    {"report-every", 0, "N",
     "print CSV to standard output: the error over each block of N rows of DATA and over all rows "
     "so far, each row tested before it is learned",
     CLI_WHOLE, FIELD(report_every), 1, 1e15},
    {"forget", 0, "FILE",
     "first forget the rows whose ids are in FILE, one per line; - is standard input. Ids number "
     "all rows that the model has seen, from 0, training rows first",
     CLI_TEXT, FIELD(forget), 0, 0},
    {"compact", 0, NULL, "at the end, remove every trace of forgotten rows from the model",
     CLI_FLAG, FIELD(compact), 0, 0},
    {"json", 0, NULL, "print the summary as one JSON object", CLI_FLAG, FIELD(json), 0, 0},
};

/* There is no --seed: learning uses the seed of the training. */
static const cli_option learn_common_options[] = {
    {"quiet", 'q', NULL, "no progress line, no warnings, no summary", CLI_FLAG, FIELD(quiet), 0, 0},
    {"threads", 0, "N", "number of threads, 0 for all cores (default 0)", CLI_WHOLE, FIELD(threads),
     0, 1024},
    {"help", 'h', NULL, "print this help", CLI_FLAG, FIELD(help), 0, 0},
};

#define TO_OPTION                                                                                \
    {                                                                                            \
        "to", 0, FORMATS, "format to write (default: from the file name, else CSV)", CLI_CHOICE, \
            FIELD(to), 0, 0                                                                      \
    }
#define TO_LABELS_OPTION                                                                          \
    {                                                                                             \
        "to-labels", 0, "FILE",                                                                   \
            "file for the labels of NPY and IDX (default: x-labels.npy next to x.npy)", CLI_TEXT, \
            FIELD(to_labels), 0, 0                                                                \
    }
#define TO_DELIMITER_OPTION                                                              \
    {                                                                                    \
        "to-delimiter", 0, "C", "CSV separator to write (default: comma; tab for .tsv)", \
            CLI_DELIMITER, FIELD(to_delimiter), 0, 0                                     \
    }

static const cli_option convert_options[] = {
    TO_OPTION,
    TO_LABELS_OPTION,
    TO_DELIMITER_OPTION,
    {"task", 0, "classify|regress", "whether labels are classes or numbers (default classify)",
     CLI_CHOICE, FIELD(task), 0, 0},
};

static const cli_option synth_options[] = {
    {"rows", 'n', "N", "number of rows", CLI_WHOLE, FIELD(rows), 1, 1e15},
    {"param", 'p', "KEY=VALUE",
     "set a parameter of the generator (repeatable); limn synth NAME lists them", CLI_PARAM, 0, 0,
     0},
    {"output", 'o', "DATA", "file to write, - for standard output", CLI_TEXT, FIELD(output), 0, 0},
    TO_OPTION,
    TO_LABELS_OPTION,
    TO_DELIMITER_OPTION,
};

static const cli_option accelerate_options[] = {
    {"data", 0, "DATA",
     "rows to fit to (60 %) and to judge by (40 %), with or without labels (default: the support "
     "vectors and points sampled around them)",
     CLI_TEXT, FIELD(data), 0, 0},
    {"test", 0, "DATA2",
     "rows to judge by, best ones that the model was not trained on; all of DATA is then fitted to",
     CLI_TEXT, FIELD(test), 0, 0},
    {"max-loss", 0, "L",
     "loss that is allowed, as a fraction: of accuracy, and twice as much of the uncertainty "
     "coefficient (default 0.005); without labels of agreement with the model (default 0.02), on "
     "rows that an SVM was trained on likewise (default 0.005); of regression, 1 - R^2 against it "
     "(default 0.005)",
     CLI_REAL, FIELD(max_loss), -1e-300, 1},
    {"budget", 0, "T",
     "mean time per query, such as 2us or 500ns: the model with the least loss within it is chosen "
     "(exit code 5: there is none)",
     CLI_DURATION, FIELD(budget), 1e-12, 3600},
    {"time-limit", 0, "T", "time for the whole race, such as 60s or 5m (default 150s)",
     CLI_DURATION, FIELD(time_limit), 1, 1e7},
    {"output", 'o', "MODEL", "file to write", CLI_TEXT, FIELD(output), 0, 0},
    {"json", 0, NULL, "print one JSON object, rates as fractions", CLI_FLAG, FIELD(json), 0, 0},
};

static const cli_option json_options[] = {
    {"json", 0, NULL, "print one JSON object", CLI_FLAG, FIELD(json), 0, 0},
};

static const cli_option help_options[] = {
    {"as", 0, "text|man|markdown|bash|zsh",
     "print text, a manual page, Markdown or a shell completion script (default text)", CLI_CHOICE,
     FIELD(help_as), 0, 0},
};

static const cli_group common_group = GROUP("Common options", common_options);
static const cli_group brief_group = GROUP("Common options", brief_options);
static const cli_group data_group = GROUP("Data options", data_options);
static const cli_group train_group = GROUP("Options", train_options);
static const cli_group svm_group = GROUP("svm-train options, for -m svm", svm_options);
static const cli_group predict_group = GROUP("Options", predict_options);
static const cli_group eval_group = GROUP("Options", eval_options);
static const cli_group search_group = GROUP("Options", search_options);
static const cli_group accelerate_group = GROUP("Options", accelerate_options);
static const cli_group convert_group = GROUP("Options", convert_options);
static const cli_group synth_group = GROUP("Options", synth_options);
static const cli_group learn_group = GROUP("Options", learn_options);
static const cli_group learn_common_group = GROUP("Common options", learn_common_options);
static const cli_group table_group = GROUP("Categories and missing cells", table_options);
static const cli_group weight_group = GROUP("Weights", weight_options);
static const cli_group match_group = GROUP("Categories", match_options);
static const cli_group ranges_group = GROUP("Scaling of a LIBSVM model", ranges_options);
static const cli_group json_group = GROUP("Options", json_options);
static const cli_group help_group = GROUP("Options", help_options);

static const cli_group *const train_groups[] = {&train_group,  &data_group, &table_group,
                                                &weight_group, &svm_group,  &common_group};
static const cli_group *const predict_groups[] = {&predict_group, &data_group, &match_group,
                                                  &ranges_group, &common_group};
static const cli_group *const eval_groups[] = {&eval_group, &data_group, &match_group,
                                               &ranges_group, &common_group};
static const cli_group *const accelerate_groups[] = {&accelerate_group, &data_group, &match_group,
                                                     &ranges_group, &common_group};
static const cli_group *const learn_groups[] = {&learn_group, &data_group, &match_group,
                                                &learn_common_group};
static const cli_group *const search_groups[] = {&search_group, &data_group, &match_group,
                                                 &common_group};
static const cli_group *const convert_groups[] = {&convert_group, &data_group, &table_group,
                                                  &ranges_group, &common_group};
static const cli_group *const synth_groups[] = {&synth_group, &common_group};
static const cli_group *const json_groups[] = {&json_group, &brief_group};
static const cli_group *const help_groups[] = {&help_group, &brief_group};

/* ---- examples ---- */

static const char *const train_examples[] = {
    "limn train iris.csv -m knn -o iris.limn",
    "limn train letter.libsvm.gz -m knn -p k=5 --scale zscore -o letter.limn",
    "limn train prices.csv --task regress --label price -m knn -o prices.limn",
    "limn train letter.libsvm.gz -m svm -p C=10 -p gamma=auto -o letter.limn",
    "limn train letter.libsvm.gz -m borders --teacher letter.limn -o fast.limn",
    "zcat big.csv.gz | limn train - -m knn --subsample 0.1 -o big.limn",
    NULL};
static const char *const predict_examples[] = {
    "limn predict iris.limn new.csv", "limn predict iris.limn new.csv --proba -o answers.csv",
    "tail -f measurements.csv | limn predict iris.limn -", NULL};
static const char *const eval_examples[] = {
    "limn eval iris.limn test.csv", "limn eval iris.limn test.csv --label species --no-speed",
    "limn eval iris.limn test.csv --json | jq .accuracy", NULL};
static const char *const accelerate_examples[] = {
    "limn accelerate production.model --data rows.libsvm -o fast.limn",
    "limn accelerate production.model -o fast.limn",
    "limn accelerate libsvm.model --ranges my.range --data raw.csv -o fast.limn",
    "limn accelerate svm.limn --data train.csv --test holdout.csv -o fast.limn",
    "limn accelerate svm.limn --data rows.csv --budget 500ns -o fast.limn",
    "limn accelerate forest.limn --data rows.csv --max-loss 0.01 -o fast.limn",
    NULL};
static const char *const learn_examples[] = {
    "limn train first.csv -m bforest -o model.limn",
    "limn learn model.limn more.csv",
    "tail -f new.csv | limn learn model.limn - --checkpoint-every 30s",
    "limn learn model.limn big.csv --checkpoint-every 100000 --resume",
    "limn learn model.limn --forget ids.txt --compact",
    NULL};
static const char *const search_examples[] = {
    "limn train points.csv --task search -m knn -o points.limn",
    "limn search points.limn queries.csv -k 10",
    "limn search points.limn queries.csv -k 10 --no-label -o neighbours.csv", NULL};
static const char *const convert_examples[] = {
    "limn convert letter.libsvm.gz letter.csv",
    "limn convert table.csv table.npy",
    "limn convert train-images-idx3-ubyte.gz train.libsvm",
    "zcat letter.libsvm.gz | limn convert - - --to csv | head",
    "limn convert libsvm.model letter.limn",
    "limn convert libsvm.model letter.limn --ranges letter.range",
    NULL};
static const char *const synth_examples[] = {
    "limn synth", "limn synth mixture -n 10000 -p classes=5 -o mixture.csv",
    "limn synth friedman -n 1000 --seed 7 -o - | head", NULL};
static const char *const info_examples[] = {"limn info iris.limn",
                                            "limn info iris.limn --json | jq .params", NULL};
static const char *const methods_examples[] = {"limn methods", "limn methods knn",
                                               "limn methods --json", NULL};
static const char *const help_examples[] = {"limn help",
                                            "limn help train",
                                            "limn help knn",
                                            "limn help train --as man > limn-train.1",
                                            "source <(limn help --as bash)",
                                            NULL};

/* ---- verbs ---- */

#define GROUPS(table) .groups = (table), .group_count = CLI_COUNT(table)

const cli_verb cli_verbs[] = {
    {.name = "train",
     .usage = "DATA -m METHOD [-p KEY=VALUE]... -o MODEL [options]",
     .summary = "train a model and print a summary",
     .details = "DATA is CSV, TSV, LIBSVM, NPY, IDX or ARFF, gzipped or not; - is standard input.",
     .examples = train_examples,
     GROUPS(train_groups),
     .min_positionals = 1,
     .max_positionals = 1,
     .default_threads = 0,
     .run = cmd_train},
    {.name = "predict",
     .usage = "MODEL DATA [--proba|--scores] [--vote] [-o OUT] [options]",
     .summary = "predict rows: one label per line",
     .details =
         "Columns are matched by name if both model and DATA have a header. DATA - is "
         "standard input: each line is answered as soon as it is complete. A regression model "
         "answers with a number, a density model with the natural log of the density.",
     .examples = predict_examples,
     GROUPS(predict_groups),
     .min_positionals = 2,
     .max_positionals = 2,
     .default_threads = 1,
     .run = cmd_predict},
    {.name = "eval",
     .usage = "MODEL DATA [--json] [options]",
     .summary = "measure accuracy and speed on labelled rows",
     .details = "Prints accuracy, error, uncertainty coefficient, log loss, Brier score, the "
                "confusion matrix, the latency of single queries (mean, median and 99th percentile "
                "over a shuffled stream of rows, each row at its best of 5 passes or more, one "
                "thread) and the rows per second in batch; of a search model the recall, of a "
                "density model the mean log density, without labels.",
     .examples = eval_examples,
     GROUPS(eval_groups),
     .min_positionals = 2,
     .max_positionals = 2,
     .default_threads = 1,
     .run = cmd_eval},
    {.name = "accelerate",
     .usage = "MODEL [--data DATA] -o MODEL2 [options]",
     .summary = "draw a faster model from an SVM or another model",
     .details =
         "MODEL is a LIBSVM text model or any limn model that classifies or regresses. Faster "
         "models are drawn from it and raced against it and, if it is an SVM, against LIBSVM: "
         "fitted to some rows, judged on others, timed in turn. The fastest within "
         "--max-loss is written; if that is MODEL itself, limn says so. The table gives, for each, "
         "the mean, median and 99th percentile of the time per query, how many times faster than "
         "LIBSVM and than MODEL that is, accuracy, uncertainty coefficient (UC), agreement with "
         "MODEL, and size.",
     .examples = accelerate_examples,
     GROUPS(accelerate_groups),
     .min_positionals = 1,
     .max_positionals = 1,
     .default_threads = 0,
     .run = cmd_accelerate},
    {.name = "learn",
     .usage = "MODEL [DATA] [-o MODEL2] [--resume] [--forget FILE] [options]",
     .summary = "update an online model with more rows",
     .details =
         "Rows are learned one by one, in constant memory apart from what the model stores; DATA - "
         "is standard input, which may be endless. Labels that the model does not know become new "
         "classes. MODEL is replaced in one step at the end; a command that fails or is killed "
         "leaves the old file, or the last checkpoint, which is a complete model. limn methods "
         "lists the methods that can learn and forget.",
     .examples = learn_examples,
     GROUPS(learn_groups),
     .min_positionals = 1,
     .max_positionals = 2,
     .default_threads = 0,
     .run = cmd_learn},
    {.name = "search",
     .usage = "MODEL DATA -k K [-o OUT] [options]",
     .summary = "find the nearest training rows",
     .details = "Prints CSV with the header query,rank,row,distance. Queries and training rows "
                "are counted from 0, ranks from 1 (the nearest).",
     .examples = search_examples,
     GROUPS(search_groups),
     .min_positionals = 2,
     .max_positionals = 2,
     .default_threads = 1,
     .run = cmd_search},
    {.name = "convert",
     .usage = "IN OUT [--to FORMAT] [options]",
     .summary = "convert data, or an SVM model, to another format",
     .details = "The format of OUT is given by --to or by its extension (.csv .tsv .libsvm .svm "
                ".npy .idx .arff; .gz after it compresses). Values and labels stay the same; "
                "formats without categories (LIBSVM, NPY, IDX) get one column per category. A "
                "LIBSVM text model becomes a limn model, and a limn svm model becomes LIBSVM text; "
                "if it scales its features, the range file for svm-scale becomes OUT.range.",
     .examples = convert_examples,
     GROUPS(convert_groups),
     .min_positionals = 2,
     .max_positionals = 2,
     .default_threads = 1,
     .run = cmd_convert},
    {.name = "synth",
     .usage = "[NAME -n N [-p KEY=VALUE]... -o DATA] [options]",
     .summary = "generate a synthetic data set",
     .details = "Without NAME, lists the generators. The same seed gives the same rows; a larger "
                "data set begins with the rows of a smaller one.",
     .examples = synth_examples,
     GROUPS(synth_groups),
     .max_positionals = 1,
     .default_threads = 1,
     .run = cmd_synth},
    {.name = "info",
     .usage = "MODEL [--json]",
     .summary = "describe a model file",
     .examples = info_examples,
     GROUPS(json_groups),
     .min_positionals = 1,
     .max_positionals = 1,
     .default_threads = 1,
     .run = cmd_info},
    {.name = "methods",
     .usage = "[METHOD] [--json]",
     .summary = "list the methods, or the parameters of one",
     .examples = methods_examples,
     GROUPS(json_groups),
     .max_positionals = 1,
     .default_threads = 1,
     .run = cmd_methods},
    {.name = "help",
     .usage = "[VERB|METHOD|GENERATOR] [--as FORMAT]",
     .summary = "explain a verb, a method or a generator",
     .details = "A manual page covers a verb or the whole program, a completion script always the "
                "whole program. A name that is both a verb and something else means the verb.",
     .examples = help_examples,
     GROUPS(help_groups),
     .max_positionals = 1,
     .default_threads = 1,
     .run = cmd_help},
};

const size_t cli_verb_count = CLI_COUNT(cli_verbs);

const cli_verb *cli_verb_find(const char *name) {
    for (size_t i = 0; i < cli_verb_count; i++)
        if (strcmp(cli_verbs[i].name, name) == 0)
            return &cli_verbs[i];
    return NULL;
}

int cli_verb_unknown(const char *name) {
    const char *names[CLI_COUNT(cli_verbs)];
    for (size_t i = 0; i < cli_verb_count; i++)
        names[i] = cli_verbs[i].name;
    const char *nearest = cli_nearest(name, names, cli_verb_count);
    if (nearest)
        return cli_fail(EXIT_USAGE, "there is no verb %s; did you mean %s?", name, nearest);
    return cli_fail(EXIT_USAGE, "there is no verb %s; limn help lists them", name);
}
