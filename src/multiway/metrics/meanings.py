"""What each score says, in a sentence for a reader who has not met it."""

MEANINGS = {
    "acc": "The share of answers that are right.",
    "ap": "Average precision: how well the rare class is ranked first; its share of the rows is what chance gives.",
    "auc": "How often a case of a class is ranked above one of another; 0.5 is chance, 1 is perfect.",
    "balanced_accuracy": "The share of right answers in each class, averaged over classes, however small.",
    "bpb": "Bits that the model needs to write a byte of the text.",
    "cl_dice": "Dice of centre lines: whether thin tubes such as vessels stay connected.",
    "count": "How many answers were scored.",
    "coverage": "The share of true values that fall within the band; it should equal the level.",
    "crps": "The error of the whole distribution that is forecast, in the units of the file.",
    "dice": "How far predicted and true masks overlap; 1 is perfect, 0 is no overlap.",
    "dice_on_file": "Dice on the grid of the files, where that is another.",
    "dice_pooled": "Dice of the voxels of all cases together.",
    "ece": "How far confidence is from the share of right answers, in the mean.",
    "f1": "Balances how many cases are found and how many finds are right; 1 is perfect.",
    "hard_auc": "The same as AUC, of the answers without their probabilities.",
    "hd95": "The distance within which 95 % of each outline lies from the other; 0 is perfect.",
    "loss": "The mean surprise at a token, in nats; training lowers it.",
    "macro_f1": "F1 of each class, averaged.",
    "mae": "The mean size of an error.",
    "map": "Average precision of each label, averaged; the share of its cases is what chance gives.",
    "mase": "The mean size of an error over that of repeating the season before, on training rows.",
    "mcc": "Correlation of answers and truth; 0 is chance, 1 is perfect.",
    "micro_f1": "Balances how many labels are found and how many finds are right, over all labels together.",
    "mse": "The mean squared error; large errors count most.",
    "pinball": "The mean error of the forecast quantiles; it rewards bands that are narrow and hold their share.",
    "ppl": "Among how many equally likely tokens the model seems to choose.",
    "r2": "The share of the variation that is explained; 0 is what the mean of the values gives.",
    "rare_f1": "Balances how many rare cases are found and how many finds are right.",
    "rmse": "The root of the mean squared error, in the units of the file.",
    "sensitivity": "The share of positive cases that are found.",
    "smape": "The error as a share of the mean of forecast and truth.",
    "specificity": "The share of negative cases that are left alone.",
    "sql": "The pinball loss over the error of repeating the season before, on training rows.",
    "top5": "How often the truth is among the five classes that are most likely.",
    "wape": "All errors added up, as a share of all values added up.",
    "weighted_f1": "F1 of each class, weighted by how often it occurs.",
    "word_ppl": "Among how many equally likely words the model seems to choose.",
    "wql": "The pinball loss of all quantiles added up, as a share of all values added up.",
}


def meaning(name: str) -> str:
    """What a score says; `mse_24` and `acc_texts`, which are of part of the rows, say what `mse` and `acc` do."""
    return MEANINGS[name if name in MEANINGS else name.partition("_")[0]]
